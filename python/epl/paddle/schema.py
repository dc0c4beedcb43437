"""Paddle's messages: of a program, and of a tensor.

The schema is a file beside this one that protobuf reads as it is, so that no compiler of schemas is needed.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from epl.errors import Error

_PACKAGE = "paddle.framework.proto"


@functools.cache
def message(name: str) -> Any:
    """The class of a message, `ProgramDesc`, say.

    Raises:
      Error: if protobuf is not installed.
    """
    try:
        from google.protobuf import message_factory
    except ImportError as error:
        raise Error(f"Paddle's programs need protobuf ({error}): pip install protobuf") from None
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"{_PACKAGE}.{name}"))


@functools.cache
def _pool() -> Any:
    from google.protobuf import descriptor_pb2, descriptor_pool, text_format

    schema = descriptor_pb2.FileDescriptorProto()
    text_format.Parse(Path(__file__).with_name("framework.textproto").read_text(), schema)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(schema)
    return pool


def parsed(name: str, content: bytes, where: str) -> Any:
    """A message.

    Raises:
      Error: for bytes that are none: names `where` they come from.
    """
    from google.protobuf.message import DecodeError

    try:
        return message(name).FromString(content)
    except DecodeError as error:
        raise Error(f"{where} is no {name} of Paddle: {error}") from None
