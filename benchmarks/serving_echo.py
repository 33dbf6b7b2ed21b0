"""Runs a bare server of grpc.aio that responds to every request with the same bytes.

    python -m benchmarks.serving_echo 391

Its latency is the part of a call over gRPC that does not depend on the model server.
"""

import asyncio
import sys

import grpc


async def serve(size):
    """Prints the port as `tfreps serve` does, and serves until the process is terminated."""

    async def predict(request, context):
        return bytes(size)

    server = grpc.aio.server()
    handlers = {"Predict": grpc.unary_unary_rpc_method_handler(predict)}
    service = "tensorflow.serving.PredictionService"
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, handlers)])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(f"gRPC: 127.0.0.1:{port}", flush=True)
    await server.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
