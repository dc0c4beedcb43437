"""How lit runs the tests below: RUN lines see the project's tools, FileCheck and not on PATH."""

import os

import lit.formats

config.name = "epl"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.epl_test_dir

if config.epl_has_asserts:
    config.available_features.add("asserts")

tools = [config.epl_tools_dir, config.llvm_tools_dir, config.environment["PATH"]]
config.environment["PATH"] = os.pathsep.join(tools)
