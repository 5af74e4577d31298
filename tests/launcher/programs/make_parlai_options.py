#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/parlai_options.json: the options of ParlAI 1.7.2's programs for a
transformer/generator, with their short forms and defaults.

Needs ParlAI (`PYTHONPATH`); run once by hand: the test reads only the file it wrote.
"""
import json
import pathlib

from parlai.agents.transformer.transformer import TransformerGeneratorAgent
from parlai.scripts import (build_dict, display_data, display_model, eval_model, interactive,
                            multiprocessing_train, self_chat, train_model)


def text_of(default):
    """As Lockstep's --help shows defaults: nothing where there is none."""
    if default is None or default == []:
        return ""
    if isinstance(default, bool):
        return str(default).lower()
    return f"{default:g}" if isinstance(default, (int, float)) else str(default)


def options_of(parser):
    TransformerGeneratorAgent.add_cmdline_args(parser)
    for action in parser._actions:
        names = [name.lstrip("-") for name in action.option_strings]
        if "help" not in names:
            yield names[0], {"short": sorted(names[1:]), "default": text_of(action.default)}


options = {}
for script in (build_dict, display_data, display_model, self_chat, interactive, eval_model,
               multiprocessing_train, train_model):
    for name, option in options_of(script.setup_args()):
        # Some have another default in each program.
        known = options.setdefault(name, {"short": [], "defaults": []})
        known["short"] = sorted({*known["short"], *option["short"]})
        known["defaults"] = sorted({*known["defaults"], option["default"]})

path = pathlib.Path(__file__).parents[2] / "golden" / "parlai_options.json"
lines = [f"{json.dumps(name)}: {json.dumps(options[name])}" for name in sorted(options)]
path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
