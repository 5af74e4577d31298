#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/parlai_data.json: what ParlAI 1.7.2 reads from dictionary files and FbDialog text.

Needs ParlAI; run once by hand, from any folder: the test reads only the file it wrote.
"""
import json
import pathlib
import tempfile

from parlai.core.dict import DictionaryAgent
from parlai.core.teachers import FbDeprecatedDialogTeacher

SPECIALS = "__null__\t1000000003\n__start__\t1000000002\n__end__\t1000000001\n__unk__\t1000000000\n"

# Name, file, special tokens of --special-tok-lst, texts to encode.
DICTIONARIES = [
    ("no counts", "hello\nworld\t3\n!\n", "", ["hello world !"]),
    ("old upper-case specials", "__NULL__\t9\n__START__\t8\n__END__\t7\n__UNK__\t6\nhello\t5\n", "", ["hello __UNK__ x"]),
    ("specials in another order", "hello\t5\n__end__\t1\n__unk__\t1\nworld\t4\n__null__\t1\n", "", ["hello world"]),
    ("twice", SPECIALS + "a\t5\nb\t4\na\t1\n", "", ["a b"]),
    ("more fields, spaces, line ends", "a\t5\tnoun\r\nb\t 4 \r\n", "", ["a b"]),
    ("an empty line is a token", "a\t5\n\nb\t4\n", "", ["a b"]),
    ("escapes", "\\n\t9\n\\t\t8\n\\\t7\na\t6\n", "", ["a\na\\"]),
]
SPECIAL_TOKENS = ["<user>", "__SYS__", "two words", "__a"]
SPECIAL_TEXTS = ["<user> Hello,<user>two words!", "__SYS__hi two words two", "x__a__a b", "<USER> two  words",
                 "hello\n<user>\n", "", "<user>", "__SYS__ <user>__SYS__"]

FBDIALOG = [
    "1 a\tb\n2\n3 c\td\n",
    "1\n2\n3 x\ty\n",
    "5\n",
    "7\n7\n8\t\n",
    "1 a\tb\n1\n2 \tz\n",
    "1 \n2 a\tb\n",
    "01 a\tb\n2 c\td\n",
]


def read(path, specials, texts, lower=False):
    opt = {"dict_file": str(path), "dict_tokenizer": "re", "dict_lower": lower}
    agent = DictionaryAgent(opt)
    if specials:
        agent.add_additional_special_tokens(specials)
    return {"tokens": [agent[i] for i in range(len(agent))],
            "encoded": [[agent[t] for t in agent.tokenize(text)] for text in texts]}


def built_with_specials(path, lower):
    """A dictionary as ParlAI's build_dict and --special-tok-lst write it."""
    agent = DictionaryAgent({"dict_tokenizer": "re", "dict_lower": lower})
    for text in ["hello <user> two words", "Hello hi hi", "x b"]:
        agent.add_to_dict(agent.tokenize(text))
    agent.add_additional_special_tokens(SPECIAL_TOKENS)
    agent.save(str(path), sort=True)
    return path.read_text()


def fbdialog(path):
    turns, teacher = [], FbDeprecatedDialogTeacher.__new__(FbDeprecatedDialogTeacher)
    teacher.cloze = False
    try:
        for turn, begins in teacher.setup_data(str(path)):
            turns.append({"text": turn[0], "labels": turn[1] or [], "begins": begins})
    except ValueError:
        return None  # no line number
    return turns


def main():
    dictionaries, dialogs = [], []
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "d"
        for name, text, specials, texts in DICTIONARIES:
            path.write_bytes(text.encode())
            dictionaries.append({"name": name, "file": text, "lower": False, "texts": texts, **read(path, specials, texts)})
        for lower in (False, True):
            text = built_with_specials(path, lower)
            dictionaries.append({"name": f"--special-tok-lst, lower {lower}", "file": text, "lower": lower,
                                 "texts": SPECIAL_TEXTS, **read(path, SPECIAL_TOKENS, SPECIAL_TEXTS, lower)})
        for text in FBDIALOG:
            path.write_text(text)
            dialogs.append({"file": text, "turns": fbdialog(path)})
    target = pathlib.Path(__file__).parents[1] / "golden/parlai_data.json"
    target.write_text(json.dumps({"dictionaries": dictionaries, "fbdialog": dialogs}, indent=1) + "\n")


main()
