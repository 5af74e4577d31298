#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes golden/text_metrics.json: replies scored by ParlAI's own metric classes.

Needs ParlAI 1.7.2 (PYTHONPATH or installed), torch, nltk and py-rouge; run once by hand, from any
folder: the test reads only the file it wrote. Two things of py-rouge are left out. Its table of
irregular words ("went" as "go") is no part of the stemmer. nltk's word_tokenize first looks for
sentences, of which a normalised text is one, with a model that would have to be downloaded.
"""
import json
import pathlib

import rouge
from nltk.tokenize import NLTKWordTokenizer
from parlai.core.metrics import ALL_METRICS, TeacherMetrics, normalize_answer

# Upper case is ASCII only: other letters need a Unicode table, which the metrics do not have.
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
    ("", [""]),
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
    # These cases are for the stemmer: its steps, short words, capitals, digits.
    ("He was running, hopping and falling; the ponies cried.", ["he runs, hops, falls; a pony cries"]),
    ("relational conditional rationally valency hesitancy digitizer conformably radically",
     ["relate condition rational valence hesitance digitize conformable radical"]),
    ("national happiness hopefulness formality sensitivity electricity electrical goodness",
     ["nation happy hopeful formal sensitive electric electric good"]),
    ("agreed plastered motoring sized hissing fizzed failing filing sky happy feudalism",
     ["agree plaster motor size hiss fizz fail file skies happily feudal"]),
    ("revival allowance inference airliner adjustable defensible replacement adjustment dependent",
     ["revive allow infer airline adjust defense replace adjust depend"]),
    ("probate rate cease controlling rolling generalizations oscillators caresses ties",
     ["probation rates ceased controller roll generalization oscillate caress tie"]),
    ("I'm gonna go, gimme that; I cannot wanna gotta lemme", ["i am going to go give me that can not want to got to let me"]),
    ("24 hours a day, 7 days", ["24hours 7 day"]),
    # The longest common subsequence differs from the set of common words.
    ("one two three four five six", ["six five four three two one"]),
    ("a b c d e f g h", ["b x c y d z e", "h g f e d c b"]),
    ("police killed the gunman", ["police kill the gunman", "the gunman kill police"]),
    # py-rouge reads only 665 characters.
    ("word " * 100 + "more " * 60 + "end", ["word " * 133 + "more", "end " * 700]),
    ("\u00e9" * 700 + " x", ["x", "\u00e9" * 3]),
    # In these cases n-grams repeat.
    ("to be or not to be that is the question to be or not", ["to be or not to be"]),
    ("ha ha ha ha ha ha", ["ha ha ha"]),
    ("I do not know. I do not know. I do not know.", ["I do not know.", "who knows"]),
]

rouge.Rouge.load_wordnet_db = staticmethod(lambda ensure_compatibility: None)
rouge.Rouge.tokenize_text = staticmethod(lambda text, language="english": NLTKWordTokenizer().tokenize(text))

everything = TeacherMetrics(metrics_list=",".join(sorted(ALL_METRICS)))
cases = []
for reply, references in CASES:
    metrics = TeacherMetrics(metrics_list="all")
    for scores in (metrics, everything):
        scores.evaluate_response({"text": reply}, references)
    report = {name: value.value() for name, value in metrics.report().items()}
    assert "rouge_L" in report, "py-rouge is not installed"
    # The metrics of a single reply equal the intradistinct ones.
    for name in ("exs", "interdistinct-1", "interdistinct-2"):
        del report[name]
    cases.append({"reply": reply, "references": references,
                  "normal": [normalize_answer(t) for t in [reply, *references]],
                  "metrics": report})
golden = {"cases": cases,
          "all": {name: value.value() for name, value in everything.report().items()}}
path = pathlib.Path(__file__).parent / "golden" / "text_metrics.json"
path.parent.mkdir(exist_ok=True)
path.write_text(json.dumps(golden, indent=1, ensure_ascii=True) + "\n")
