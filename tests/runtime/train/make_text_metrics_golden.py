#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes golden/text_metrics.json: answers normalised and scored by Python's re and by nltk.

Needs nltk; run once by hand, from any folder: the test reads only the file it wrote.
"""
import json
import pathlib
import re
from collections import Counter

from nltk.translate import bleu_score

ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = re.compile(r'[!"#$%&()*+,-./:;<=>?@\[\]\\^`{|}~_\']')


def normalize(text):
    text = ARTICLES.sub(" ", PUNCTUATION.sub(" ", text.lower()))
    return " ".join(text.split())


def f1(guess, reference):
    guess, reference = normalize(guess).split(), normalize(reference).split()
    same = sum((Counter(guess) & Counter(reference)).values())
    if same == 0:
        return 0.0
    precision, recall = same / len(guess), same / len(reference)
    return 2 * precision * recall / (precision + recall)


def bleu(guess, references):
    return float(bleu_score.sentence_bleu(
        [normalize(r).split(" ") for r in references], normalize(guess).split(" "),
        smoothing_function=bleu_score.SmoothingFunction(epsilon=1e-12).method1,
        weights=[1 / 4] * 4))


# Upper case is ASCII only: what lies beyond needs a Unicode table, which the metrics do not have.
CASES = [
    ("The cat sat on the mat.", ["the cat sat on the mat"]),
    ("It's a dog's life, isn't it?", ["It is a dog's life", "life, isn't it? It's a dog's"]),
    ("the the the the the the the", ["the cat is on the mat", "there is a cat on the mat"]),
    ("it is a guide to action which ensures that the military always obeys the commands of the party",
     ["it is a guide to action that ensures that the military will forever heed party commands",
      "it is the guiding principle which guarantees the military forces always being under the command of the party",
      "it is the practical guide for the army always to heed the directions of the party"]),
    ("I am fine", ["I am fine, and how are you today?", "fine"]),
    ("no overlap here", ["completely different words"]),
    ("", ["something"]),
    ("something", [""]),
    ("the a an", ["..."]),
    ("one", ["one"]),
    ("one two", ["one two three", "two one", "one"]),
    ("and and and and", ["and and"]),
    ("  Many\t spaces\n here\u00a0and\u3000there ", ["many spaces here and there"]),
    ("under_score and-dash/slash a.b.c the-end", ["under score and dash slash b c end"]),
    ("caf\u00e9 au lait, na\u00efve fa\u00e7ade", ["the caf\u00e9 au lait: na\u00efve fa\u00e7ade!"]),
    ("\u201cthe king\u201d\u2014a man", ["\u201cking\u201d\u2014 man"]),
    ("the\u00e9 a\u0301 an\u00fc a\u2014b \u00aba\u00bb the\u00d7an \u00b2the", ["th\u00e9"]),
    ("\u4f60\u597d a \u4e16\u754c\u3002the end", ["\u4f60\u597d \u4e16\u754c\u3002 end"]),
    ("\u043f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440 a", ["\u043f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440"]),
    ("a\U0001f600the \U0001f600a b\u2019s the\u20ac", ["\U0001f600 \U0001f600 b\u2019s \u20ac"]),
    ("other brother anthem atheist area the", ["other brother anthem atheist area"]),
]

golden = [{"guess": guess, "references": references,
           "normal": [normalize(t) for t in [guess, *references]],
           "f1": max(f1(guess, r) for r in references), "bleu4": bleu(guess, references)}
          for guess, references in CASES]
path = pathlib.Path(__file__).parent / "golden" / "text_metrics.json"
path.parent.mkdir(exist_ok=True)
path.write_text(json.dumps(golden, indent=1, ensure_ascii=True) + "\n")
