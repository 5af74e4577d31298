#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what transformers' own renderer makes of small templates: golden/rendered.json.

    tests/data/templates/make_template_golden.py [FILE]

It needs transformers 5 and jinja2. Templates that cannot be rendered have the line of jinja2's error."""
import json
import os
import sys
import traceback

import jinja2
from transformers.utils import chat_template_utils

HERE = os.path.dirname(os.path.abspath(__file__))

TALK = [{'role': 'system', 'content': 'Be brief.'},
        {'role': 'user', 'content': '  What say you?\n'},
        {'role': 'assistant', 'content': 'Speak, <|end|> speak.',
         'tool_calls': [{'function': {'name': 'rain', 'arguments': {'z': 1, 'a': [True, None, 1.5, 'é"\n<&>']}}}]},
        {'role': 'user', 'content': 'And then?', 'name': 'Ann'}]
TOOLS = [{'type': 'function', 'function': {'name': 'rain', 'description': 'Tells \'if\' it "rains".',
                                           'parameters': {'type': 'object', 'properties': {'b': {'type': 'string'}, 'A': {}}}}}]
DATA = {'messages': TALK, 'tools': TOOLS, 'documents': None, 'add_generation_prompt': True}
CONSTANTS = {'bos_token': '<s>', 'eos_token': '<|end|>'}

TEMPLATES = {
    # White space
    'a line end behind a block is no text': '{% if true %}\na\n{% endif %}\nb\n',
    'indents of blocks are no text': '  {% if true %}\n    a\n  {% endif %}\n  b  {% set x = 1 %}  \n c',
    'values keep their spaces': '  {{ 1 }}  \n  {{ 2 }}\n',
    'minus takes all white space': 'a \n {%- if true -%} \n b \n {%- endif -%} \n c {{- 1 -}} \n d',
    'plus keeps it': '  {%+ if true +%}\n  a\n  {%+ endif %}\nb',
    'comments': 'a\n  {# one\n two #}\nb {#- x -#} c\n{# y +#}\nd {#-#} e',
    'raw': 'a {% raw %} {{ x }} {% y %}\n{% endraw %}\n b {%- raw -%} c {%- endraw -%} d\n  {% raw %}x{% endraw %}',
    'line ends of Windows': 'a\r\n{% if true %}\r\nb\r\n{% endif %}\r\nc\rd\r\n',
    'one line end at the end goes': 'a\n\n',
    'no tag': 'only { text } %} }} #}',
    'white space of Unicode': 'a\u3000{{- 1 -}}\u00a0\u2028b',
    'block at the begin': '  {% set x = 1 %}a',
    'indent behind a value': '{{ 1 }}  {% set x = 1 %}a',
    'braces in a tag': '{{ {"a": {"b": "}}"}}["a"]["b"] }}{{ "%}" }}',
    # Constants
    'constants': '{{ true }} {{ False }} {{ none }} {{ None }} {{ 7 }} {{ 1_000 }} {{ 1.50 }} {{ 2e3 }} {{ 1e-7 }} {{ 1e22 }} {{ 123456789.25 }} {{ -0.0 }}',
    'texts': r'''{{ 'a' "b" 'it\'s' }}{{ "\n\t\\\"\x41\u00e9\U0001F600\101\q" }}{{ 'a
b' }}''',
    'lists': '{{ [1, "a", [2.0, none], (1,), (), (1, 2)] }} {{ [] }} {{ {} }} {{ {"a": "it\'s", "b": \'x"\'} }} {{ 1, 2 }} {{ ["\\n\\t\\\\\\u200b\\u00a0é\\x7f"] }}',
    'dicts': '{{ {"a": 1, "b": {"c": 2}}.b.c }}{{ {"a": 1, "a": 2} }}{{ dict(a=1, b=2) }}{{ dict({"x": 1}, y=2)["y"] }}',
    # Operators
    'sums': '{{ 1 + 2 * 3 - 4 }} {{ (1 + 2) * 3 }} {{ 7 / 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 7.5 // 2 }} {{ -7.5 % 2 }} {{ 1 - - 1 }} {{ +3 }} {{ true + 1 }} {{ -2 ** 2 }} {{ 2 ** 3 ** 2 }}',
    'joining': '{{ "a" + "b" ~ 1 ~ none ~ [1] }} {{ [1] + [2] }} {{ "ab" * 3 }} {{ 2 * [0] }} {{ (1,) + (2,) }} {{ 1 ~ 2 * 3 }}',
    'comparisons': '{{ 1 < 2 < 3 }} {{ 3 > 2 > 2 }} {{ 1 == 1.0 }} {{ "a" < "b" }} {{ [1, 2] < [1, 3] }} {{ 1 != "1" }} {{ true == 1 }} {{ none == none }} {{ [1] == (1,) }} {{ {"a": 1} == {"a": 1} }} {{ 2 >= 2 }} {{ 1 <= 0 }}',
    'in': '{{ "b" in "abc" }} {{ 1 in [1, 2] }} {{ "x" not in {"x": 1} }} {{ "" in "" }} {{ 1 in nothing }} {{ not 1 in [2] }} {{ "user" in messages[1].role }}',
    'and, or, not': '{{ 1 and 0 }} {{ "" or "b" }} {{ not "" }} {{ none or 0 }} {{ [] and x.y }} {{ 1 or x.y }} {{ not not 1 }}',
    'choices': '{{ 1 if 0 else 2 if 0 else 3 }}{{ "x" if false }}{{ ("a" if 1) ~ "b" }}',
    'precedence of filters': '{{ -1|abs }} {{ 1 + "a"|length }} {{ ("a" ~ "b")|upper }} {{ "a" ~ "b"|upper }} {{ not "a" is string }} {{ "a" is string and 1 is number }}',
    # Members
    'members': '{{ messages[1].role }} {{ messages[-1]["name"] }} {{ messages[0].get("name") }} {{ messages[0].get("name", "none") }} {{ messages.0.role }} {{ messages[0].missing is defined }} {{ messages[9] is defined }} {{ messages[0]["items"] is defined }}{{ "abc"[1] }}{{ "abc"[-1] }}{{ "aé日z"[2] }}',
    'a member with the name of a method': '{% set d = {"items": 1, "x": 2} %}{{ d["items"] }}{% for k, v in d.items() %}{{ k }}{{ v }}{% endfor %}',
    'slices': '{{ messages[1:]|length }} {{ messages[::-1][0].role }} {{ "abcdef"[1:4] }} {{ "abcdef"[::-2] }} {{ "abcdef"[-2:] }} {{ [1,2,3,4][:-1] }} {{ [1,2,3][5:] }} {{ "aéio日本"[1:5] }} {{ (1,2,3)[1:] }} {{ [1,2,3][::2] }} {{ [1,2,3][-9:9:1] }} {{ "abc"[:none] }}',
    'undefined': '[{{ nothing }}] [{{ nothing|default("d") }}] [{{ nothing is undefined }}] [{{ messages[0].x }}] [{{ nothing ~ "a" }}] [{{ nothing|length }}] {% for x in nothing %}x{% endfor %} [{{ nothing == other }}] [{{ nothing|string }}] [{{ nothing|list }}] [{{ nothing is iterable }}] [{{ nothing is sequence }}] [{{ nothing is none }}] [{{ nothing|trim }}] [{{ not nothing }}]',
    # Statements
    'branches': '{% for x in [0, 1, 2, 3] %}{% if x == 0 %}a{% elif x == 1 %}b{% elif x == 2 %}c{% else %}d{% endif %}{% endfor %}{% if 0 %}x{% endif %}',
    'loops': '{% for m in messages %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.previtem.role if not loop.first }}|{{ loop.nextitem.role if loop.nextitem is defined }}{{ loop.cycle("a", "b") }}\n{% else %}none{% endfor %}',
    'loops over other things': '{% for k in {"a": 1, "b": 2} %}{{ k }}{% endfor %}{% for c in "aé" %}{{ c }},{% endfor %}{% for a, b in [(1, 2), [3, 4]] %}{{ a }}{{ b }}{% endfor %}{% for i in range(3) %}{{ i }}{% endfor %}{% for i in range(5, 1, -2) %}{{ i }}{% endfor %}{% for x in [] %}{% else %}E{% endfor %}{% for x in 1, 2 %}{{ x }}{% endfor %}',
    'loops with a condition': '{% for m in messages if m.role == "user" %}{{ loop.index }}/{{ loop.length }}{{ m.content|trim }}{% else %}none{% endfor %}{% for x in [1] if x > 1 %}{% else %}E{% endfor %}',
    'break and continue': '{% for x in range(9) %}{% if x == 1 %}{% continue %}{% endif %}{% if x == 4 %}{% break %}{% endif %}{{ x }}{% endfor %}',
    'loops in loops': '{% for x in [1, 2] %}{% set outer = loop %}{% for y in [1, 2] %}{{ outer.index }}{{ loop.index }}{{ loop.depth }}{% if y == 1 %}{% continue %}{% endif %};{% endfor %}{% endfor %}',
    'names of a loop end with it': '{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = 5 %}{{ x }}{% endfor %}{{ x }}{{ i is defined }}',
    'names of branches stay': '{% if true %}{% set x = 2 %}{% endif %}{{ x }}',
    'set': '{% set a, b = 1, [2] %}{{ a }}{{ b }}{% set c = 1, 2 %}{{ c }}{% set t %}  in {{ a }}\n{% endset %}[{{ t }}]{% set u | trim | upper %} x {% endset %}[{{ u }}]{% set (d, e) = "xy" %}{{ d }}{{ e }}',
    'namespaces': '{% set ns = namespace(a=1, found=false) %}{% for m in messages %}{% if m.role == "user" and not ns.found %}{% set ns.found = true %}{% set ns.a = ns.a + 5 %}{% endif %}{% endfor %}{{ ns.a }}{{ ns.found }}{{ ns.missing is defined }}{% set ns2 = namespace({"x": 2}) %}{{ ns2.x }}{{ ns2["x"] }}',
    'macros': '{% macro m(a, b=2, c=a) %}[{{ a }}{{ b }}{{ c }}]{% endmacro %}{{ m(1) }}{{ m(1, c=3) }}{{ m(b=1, a=0) }}{{ m()|length }}{% set x = m(1) ~ "!" %}{{ x }}{{ m is defined }}',
    'macros see what is set at the top': '{% macro m() %}{{ x }}{{ bos_token }}{{ y is defined }}{% set x = 9 %}{{ x }}{% endmacro %}{% set x = 3 %}{% for y in [1] %}{{ m() }}{% endfor %}{{ x }}',
    'macros call themselves': '{% macro count(n) %}{{ n }}{% if n > 0 %},{{ count(n - 1) }}{% endif %}{% endmacro %}{{ count(9) }}',
    'loops inside of macros': '{% macro m(xs) %}\n  {% for x in xs %}\n    {{- x }}{% if not loop.last %}, {% endif %}\n  {% endfor %}\n{% endmacro %}\n{{ m([1, 2]) }}',
    # Filters
    'tojson': '{{ tools|tojson }}\n{{ messages[2].tool_calls[0].function.arguments|tojson }}\n{{ tools|tojson(indent=2) }}\n{{ "é\\u2028😀\\x7f"|tojson }}{{ "é😀\\x7f\\x01"|tojson(ensure_ascii=true) }}{{ {"b": 1, "a": [1.0, 1e20, 1e-5]}|tojson(sort_keys=true) }}{{ [1, {"a": 2}]|tojson(separators=(",", ":")) }}{{ none|tojson }}{{ [[], {}]|tojson(indent=1) }}{{ (1, 2)|tojson }}',
    'filters of texts': '{{ "  a b "|trim }}|{{ "xxaxx"|trim("x") }}|{{ "abc"|upper }}{{ "ABC"|lower }}{{ "hELLO wORLD"|capitalize }}{{ "hello wORLD"|title }}|{{ "a-b-c"|replace("-", "+") }}{{ "aaa"|replace("a", "b", 2) }}|{{ 12|string }}{{ "x"|safe }}{{ "aé日"|length }}{{ "abc"|reverse }}{{ "12"|int + 1 }}{{ "x"|int(7) }}{{ 3.9|int }}{{ "ÀÉ"|lower }}',
    'filters of lists': '{{ [1, 2]|join(", ") }}|{{ ["a", none, 1]|join }}|{{ messages|map(attribute="role")|join(",") }}|{{ messages|map(attribute="name", default="-")|join(",") }}|{{ ["a", "b"]|map("upper")|list }}|{{ [1, 2]|first }}{{ [1, 2]|last }}|{{ [3, 1]|reverse|list }}|{{ "ab"|list }}|{{ {"a": 1}|list }}|{{ [1, 2]|count }}|{{ messages|join("-", attribute="role") }}',
    'filters that choose': '{{ messages|selectattr("role", "equalto", "user")|list|length }}{{ messages|rejectattr("role", "equalto", "user")|map(attribute="role")|join(",") }}{{ [1, 2, 3, 4]|select("odd")|list }}{{ [1, 2, 3]|reject("equalto", 2)|list }}{{ [0, 1, ""]|select|list }}{{ messages|selectattr("name")|list|length }}{{ messages|selectattr("name", "defined")|map(attribute="name")|first }}{{ tools|selectattr("function.name", "in", ["rain"])|list|length }}{% if []|select %}always{% endif %}',
    'filters of dicts': '{% for k, v in {"b": 1, "A": 2, "c": 0}|dictsort %}{{ k }}{{ v }}{% endfor %}{% for k, v in {"b": 1, "a": 2}|items %}{{ k }}{{ v }}{% endfor %}{{ {"b": 1, "a": 2}|dictsort(by="value", reverse=true) }}{{ {"b": 1, "A": 2, "a": 3}|dictsort(true) }}',
    'default': '{{ nothing|default("a") }}{{ ""|default("b") }}{{ ""|default("c", true) }}{{ none|d("e") }}{{ nothing|default }}{{ 0|default(1, boolean=true) }}',
    # Tests
    'tests': '{% for x in [1, 1.5, "a", [1], {"a": 1}, none, true, (1,), nothing] %}{{ x is string }}{{ x is mapping }}{{ x is iterable }}{{ x is sequence }}{{ x is none }}{{ x is boolean }}{{ x is true }}{{ x is false }}{{ x is number }}{{ x is integer }}{{ x is float }}{{ x is defined }}{{ x is callable }}\n{% endfor %}',
    'tests with arguments': '{{ 1 is eq 1 }}{{ 1 is ne 1 }}{{ 3 is divisibleby 3 }}{{ 3 is odd }}{{ 2 is even }}{{ "a" is in "abc" }}{{ 1 is in([1]) }}{{ 2 is gt 1 }}{{ 2 is lessthan(1) }}{{ "a" is not string }}{{ "ab" is lower }}{{ "Ab" is upper }}',
    # Methods
    'methods': '{{ " a b  c ".split() }}{{ "a,b,,c".split(",") }}{{ "a,b,c".split(",", 1) }}{{ "a b c d".split(none, 2) }}{{ "</think>x".split("</think>")[-1] }}{{ "xax".strip("x") }}{{ " a ".lstrip() }}|{{ " a ".rstrip() }}|{{ "\\n\\na\\n".strip("\\n") }}{{ "abc".startswith("ab") }}{{ "abc".endswith(("x", "bc")) }}{{ "aB".upper() }}{{ "aB".lower() }}{{ "hello World".capitalize() }}{{ "a b".title() }}{{ "aXbX".replace("X", "-") }}{{ "aXbX".replace("X", "-", 1) }}{{ ",".join(["a", "b"]) }}{{ "abc".find("c") }}{{ "é日c".find("c") }}{{ "abc".find("x") }}{{ "aXa".count("a") }}{{ "abc".removeprefix("a") }}{{ "abc".removesuffix("c") }}{{ "a\\nb\\r\\nc\\n".splitlines() }}{{ "12".isdigit() }}{{ "".isdigit() }}{{ "日a日".strip("日") }}',
    'methods of dicts': '{{ {"a": 1}.get("a") }}{{ {"a": 1}.get("b") }}{{ {"a": 1}.get("b", 2) }}{% for k in {"a": 1, "b": 2}.keys() %}{{ k }}{% endfor %}{% for v in {"a": 1, "b": 2}.values() %}{{ v }}{% endfor %}{{ {"a": 1}.items()|list }}{{ {"a": 1}.items()|length }}',
    # What is marked
    'generation': '{% for m in messages %}<{{ m.role }}>\n{% if m.role == "assistant" %}{% generation %}\n{{ m.content|trim }}{{ eos_token }}{% endgeneration %}\n\n{% else %}{{ m.content }}{{ eos_token }}\n{% endif %}{% endfor %}{% if add_generation_prompt %}<assistant>\n{% endif %}',
    'generation twice': 'é{% generation %}日{% endgeneration %}b{%- generation -%} c {%- endgeneration %}{{ bos_token }}',
    'functions': '{{ raise_exception is defined }}{{ strftime_now is defined }}{{ namespace is defined }}{{ range(4)|list }}',
    'words': '{{ bos_token + messages[2].content + eos_token }}{{ messages[2].content|upper|lower }}{{ messages[2].content[7:14] }}{{ messages[2].content.split(" ")|join("|") }}{{ messages[2].content.replace("speak", "say") }}{{ [messages[2].content] }}{{ messages[2]|tojson }}{% set x = "a" ~ messages[0].role %}{{ x }}',
    # Errors
    'an exception': 'a\nb{{ raise_exception("No " ~ messages[0].role ~ " here") }}',
    'an exception in a loop': '{% for m in messages %}\n{% if loop.index0 == 1 %}\n{{ raise_exception("user") }}\n{% endif %}\n{% endfor %}',
    'a member of what is not there': '\n{{ nothing.x }}',
    'an item of what is not there': '{{ messages[9]["role"] }}',
    'a call of what is not there': '{{ nothing() }}',
    'a sum with what is not there': '\n\n{{ "a" + nothing }}',
    'a sum of text and number': '{{ "a" + 1 }}',
    'a sum of text and none': '{{ "a" + none }}',
    'JSON of what is not there': '{{ nothing|tojson }}',
    'a comparison of text and number': '{{ "a" < 1 }}',
    'too many values': '{% for a, b in [(1, 2, 3)] %}{% endfor %}',
    'division by zero': '{{ 1 / 0 }}',
    'a list cannot be changed': '{{ [1].append(2) }}',
    'no length': '{{ 1|length }}',
    'no items': '{% for x in 5 %}{% endfor %}',
    'an unknown filter': '{{ 1|nofilter }}',
    'an unknown test': '{{ 1 is notest }}',
    'an unknown tag': 'a\n{% notag %}',
    'an unclosed block': '{% if true %}a',
    'an unclosed tag': 'a\n{{ 1 ',
    'an unclosed comment': 'a {# b',
    'an unclosed text': '{{ "a }}',
    'an unclosed raw block': '{% raw %} a',
    'wrong brackets': '{{ (1] }}',
    'no expression': '{{ }}',
    'an end without a begin': 'a{% endif %}',
    'a missing in': '{% for x [1] %}{% endfor %}',
    'a wrong character': '{{ a ? b }}',
    'an argument twice': '{% macro m(a) %}{% endmacro %}{{ m(1, a=2) }}',
    'an unknown argument': '{% macro m(a) %}{% endmacro %}{{ m(b=2) }}',
    'no namespace': '{% set x = 1 %}{% set x.y = 2 %}',
}


def line_of(error):
    if isinstance(error, jinja2.TemplateSyntaxError):
        return error.lineno
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == '<template>']
    return lines[-1] if lines else 1


def rendered(template, data, constants):
    try:
        compiled = chat_template_utils._compile_jinja_template(template)
        text, marked = chat_template_utils._render_with_assistant_indices(
            compiled, data['messages'], data['tools'], data['documents'], data['add_generation_prompt'], **constants)
    except Exception as error:  # any of Python's, too
        return {'error_line': line_of(error), 'error': str(error).splitlines()[0] if str(error) else ''}
    return {'text': text, 'generation': [[len(text[:place].encode()) for place in pair] for pair in marked]}


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, 'golden', 'rendered.json')
    cases = [{'name': name, 'template': template, **rendered(template, DATA, CONSTANTS)}
             for name, template in TEMPLATES.items()]
    with open(path, 'w', encoding='utf-8', newline='\n') as file:
        json.dump({'data': DATA, 'constants': CONSTANTS, 'cases': cases}, file, ensure_ascii=False, indent=1)
        file.write('\n')


if __name__ == '__main__':
    main()
