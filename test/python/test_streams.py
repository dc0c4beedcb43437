"""Streams of parameter servers (libepl_grpc.so) in one process with another gRPC: Python's, or Paddle's."""

import ctypes
from pathlib import Path

import pytest

LIBRARY = Path(__file__).parents[2] / "build/lib/libEplStreamLoop.so"

if not LIBRARY.exists():
    pytest.skip("built without gRPC", allow_module_level=True)


def loop() -> None:
    """Frames from this process to itself, over the plugin."""
    function = ctypes.CDLL(str(LIBRARY)).eplStreamLoop
    function.restype = ctypes.c_char_p
    assert function().decode() == ""


def test_run() -> None:
    loop()


def test_beside_grpcio() -> None:
    grpc = pytest.importorskip("grpc", reason="Python's grpcio is not installed")
    from concurrent import futures

    class Echo(grpc.GenericRpcHandler):  # type: ignore[misc]
        def service(self, details: object) -> object:
            return grpc.unary_unary_rpc_method_handler(lambda request, context: request)

    server = grpc.server(futures.ThreadPoolExecutor(2), handlers=[Echo()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}", options=[("grpc.enable_http_proxy", 0)]) as channel:
        call = channel.unary_unary("/a.Service/Echo")
        assert call(b"before", timeout=20) == b"before"
        loop()
        assert call(b"after" * 100000, timeout=20) == b"after" * 100000
    server.stop(None).wait()
    loop()


def test_beside_paddle() -> None:
    paddle = pytest.importorskip("paddle", reason="Paddle is not installed")
    loop()
    with paddle.base.dygraph.guard(paddle.CPUPlace()):  # other tests of the process have programs
        assert float(paddle.to_tensor([1.0, 2.0]).sum()) == 3.0
    loop()
