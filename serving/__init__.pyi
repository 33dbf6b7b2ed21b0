from .annotation.annotate import Annotate as Annotate
from .server.grpc.grpc_client import GrpcClient as GrpcClient
from .server.model_server import ModelServer as ModelServer
from .server.models.model_configs import ModelConfig as ModelConfig
from .server.models.model_configs import VersionPolicy as VersionPolicy
from .server.requests.server_options import BatchOptions as BatchOptions
from .server.requests.server_options import ServerOptions as ServerOptions
from .server.rest.rest_client import RestClient as RestClient
