"""Defaults of the command line from a JSON file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from .exceptions import TVMCException

__all__ = [
    "CONFIGS_JSON_DIR",
    "ConfigsJsonNotFoundError",
    "convert_config_json_to_cli",
    "find_json_file",
    "get_configs_json_dir",
    "parse_target_from_json",
    "read_and_convert_json_into_dict",
]

#: Where files are looked for by name; found when it is first asked for.
CONFIGS_JSON_DIR: Path | None = None

_DEFAULT = {"targets": [{"kind": "llvm"}]}


class ConfigsJsonNotFoundError(TVMCException):
    """There is no folder of configurations."""


def get_configs_json_dir() -> Path:
    """The folder of configurations: TVM_CONFIGS_JSON_DIR, or `configs` of the working directory."""
    global CONFIGS_JSON_DIR
    if CONFIGS_JSON_DIR is None:
        candidates = [os.environ.get("TVM_CONFIGS_JSON_DIR", ""), os.path.join(os.getcwd(), "configs")]
        for candidate in filter(None, candidates):
            if os.path.isdir(candidate):
                CONFIGS_JSON_DIR = Path(candidate)
                return CONFIGS_JSON_DIR
        raise ConfigsJsonNotFoundError("there is no folder of configurations; TVM_CONFIGS_JSON_DIR may name one")
    return CONFIGS_JSON_DIR


def find_json_file(name: str, path: str | Path) -> str:
    """The file of that name below a folder; "" where there is none."""
    for folder, _, files in os.walk(os.fspath(path)):
        if name in files:
            return os.path.join(folder, name)
    return ""


def read_and_convert_json_into_dict(config_args: Any) -> dict[str, Any]:
    """What the file says that --config names, by path or by name; the default configuration needs no file."""
    name = config_args.config
    path = name if os.path.exists(name) else f"{name}.json" if os.path.exists(f"{name}.json") else ""
    if not path:
        try:
            file = name if name.endswith(".json") else f"{name}.json"
            path = find_json_file(file, os.path.join(get_configs_json_dir(), "host")) or find_json_file(
                file, get_configs_json_dir()
            )
        except ConfigsJsonNotFoundError:
            path = ""
    if not path:
        if name == "default":
            return dict(_DEFAULT)
        raise TVMCException(f"there is no configuration {name!r}")
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise TVMCException(f"{path} is no JSON: {error}") from error


def parse_target_from_json(one_target: dict[str, Any], command_line_list: dict[str, Any]) -> str:
    """The kind of a target; its options go into the list as flags target_<kind>_<option>."""
    kind = one_target["kind"]
    for name, value in one_target.items():
        if name != "kind":
            command_line_list[f"target_{kind}_{name}".replace("-", "_")] = value
    return kind


def convert_config_json_to_cli(json_params: dict[str, Any]) -> dict[str, Any]:
    """Values of flags by their names in a namespace (`target_llvm_mcpu`, `executor_aot_unpacked_api`)."""
    out: dict[str, Any] = {}
    for name, value in json_params.items():
        if name == "targets":
            out["target"] = ", ".join(parse_target_from_json(target, out) for target in value)
        elif name in ("executor", "runtime"):
            for option, setting in value.items():
                if option == "kind":
                    out[name] = setting
                else:
                    out[f"{name}_{value['kind']}_{option}".replace("-", "_")] = setting
        elif isinstance(value, dict):
            for option, setting in value.items():
                out[f"{name}_{option}".replace("-", "_")] = setting
        else:
            out[name.replace("-", "_")] = value
    return out
