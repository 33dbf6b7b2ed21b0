from ._src.server.grpc.grpc_client import GrpcClient as GrpcClient
from ._src.server.model_server import ModelServer as ModelServer
from ._src.server.models.model_configs import ModelConfig as ModelConfig
from ._src.server.models.model_configs import VersionPolicy as VersionPolicy
from ._src.server.requests.server_options import BatchOptions as BatchOptions
from ._src.server.requests.server_options import ServerOptions as ServerOptions
from ._src.server.rest.rest_client import RestClient as RestClient
