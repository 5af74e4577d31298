#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/architecture.svg: the rooms of cmake/rooms.txt, and which of them include which.

    docs/draw_rooms.py            writes the picture
    docs/draw_rooms.py --check    fails if the picture is not up to date, or docs/architecture.md says nothing of a room

A floor is a band. The rooms that a room uses come after it, to the right or below; its line "uses" names those of its own
floor. The line behind a floor's name, and the arrows, say which floors its rooms use. What follows from others is left out:
a room that uses B, which uses C, does not name C."""
import collections
import os
import sys
import textwrap

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
sys.path.insert(0, os.path.join(ROOT, 'tests'))
import layers_test  # noqa: E402

PICTURE = os.path.join(ROOT, 'docs', 'architecture.svg')
COLOURS = {'launcher': '#e8eefc', 'data': '#e6f4ea', 'model': '#fdf1dc', 'runtime': '#f3ecf8'}
BOX, LINE, GAP, TITLE, BETWEEN, PAGE = 150, 13, 10, 24, 34, 1130


def floor_of(room):
    """The top folder; of runtime, which is large, the folder below it."""
    parts = room.split('/')
    return '/'.join(parts[:2]) if parts[0] == 'runtime' else parts[0]


def includes(root, rooms):
    """For each room the rooms that its files include."""
    height = {room: index for index, room in enumerate(rooms)}
    uses = {room: set() for room in rooms}
    for path in layers_test.sources(root):
        room = layers_test.room_of(path, height)
        for include in layers_test.included(layers_test.read(os.path.join(root, path))) if room else ():
            other = layers_test.room_of(include, height)
            if os.path.isfile(os.path.join(root, include)) and other not in (room, ''):
                uses[room].add(other)
    return uses


def reachable(uses, start):
    seen, todo = set(), list(uses[start])
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            todo.extend(uses[node])
    return seen


def reduced(uses):
    """Without the arrows that follow from others."""
    return {node: {other for other in below
                   if not any(other in reachable(uses, between) for between in below if between != other)}
            for node, below in uses.items()}


def levels(uses):
    """The nodes by height: everything stands directly above the highest node that it uses."""
    level = {}

    def height(node):
        if node not in level:
            level[node] = 1 + max((height(other) for other in uses[node]), default=-1)
        return level[node]
    rows = collections.defaultdict(list)
    for node in uses:
        rows[height(node)].append(node)
    return [rows[index] for index in sorted(rows, reverse=True)]


def floor_rows(uses):
    """The floors from top to bottom; a floor stands directly below the lowest one that uses it."""
    users = {node: {other for other in uses if node in uses[other]} for node in uses}
    return list(reversed(levels(users)))


class Floor:
    """A band with its rooms in rows. Sizes are in pixels."""

    def __init__(self, name, rooms, uses, below, columns):
        self.name = name
        self.title = f'{name}<tspan dx="8" class="uses">uses {", ".join(sorted(below))}</tspan>' if below else name
        inside = {room: {other for other in uses[room] if other in rooms} for room in rooms}
        self.uses = reduced(inside)
        order = [room for row in levels(inside) for room in row]
        self.rows = [order[at:at + columns] for at in range(0, len(order), columns)]
        self.width = max(len(row) for row in self.rows) * (BOX + GAP) + GAP
        self.height = TITLE + sum(self.row_height(row) + GAP for row in self.rows)

    def short(self, room):
        return room[len(self.name) + 1:] or room.split('/')[-1]

    def lines(self, room):
        below = sorted(self.short(other) for other in self.uses[room])
        return textwrap.wrap('uses ' + ', '.join(below), 25, break_long_words=False) if below else []

    def row_height(self, row):
        return 24 + LINE * max(len(self.lines(room)) for room in row)

    def draw(self, left, top, width):
        colour = COLOURS[self.name.split('/')[0]]
        yield f'<rect x="{left}" y="{top}" width="{width}" height="{self.height}" rx="8" fill="{colour}" stroke="#888"/>'
        yield f'<text x="{left + GAP}" y="{top + 17}" class="floor">{self.title}</text>'
        y, box = top + TITLE, (width - GAP) // max(len(row) for row in self.rows) - GAP
        for row in self.rows:
            height = self.row_height(row)
            for column, room in enumerate(row):
                yield from self.draw_room(room, left + GAP + column * (box + GAP), y, box, height)
            y += height + GAP

    def draw_room(self, room, x, y, width, height):
        yield f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="4" fill="#fff" stroke="#666"/>'
        yield f'<text x="{x + 7}" y="{y + 16}" class="room">{self.short(room)}</text>'
        for number, line in enumerate(self.lines(room)):
            yield f'<text x="{x + 7}" y="{y + 31 + LINE * number}" class="uses">{line}</text>'


def arrow(above, below):
    """From the lower edge of one band to the upper edge of the next."""
    (left, top, width, height), (left2, top2, width2, _) = above, below
    x = left + width // 2 if width < width2 else left2 + width2 // 2
    return (f'<line x1="{x}" y1="{top + height}" x2="{x}" y2="{top2 - 2}" stroke="#333" stroke-width="2" '
            'marker-end="url(#head)"/>')


def place(floors, rows):
    """The rectangle of each floor: those of one row stand side by side and fill the page."""
    places, top = {}, 40
    for row in rows:
        spare = (PAGE - sum(floors[name].width for name in row) - BETWEEN * (len(row) - 1)) / len(row)
        left = 0
        for name in row:
            width = floors[name].width + spare
            places[name] = (round(left), top, round(width), floors[name].height)
            left += width + BETWEEN
        top += max(floors[name].height for name in row) + BETWEEN
    return places, top - BETWEEN + 10


def picture(rooms, uses):
    members = collections.defaultdict(list)
    for room in rooms:
        members[floor_of(room)].append(room)
    between = {name: {floor_of(other) for room in inside for other in uses[room]} - {name}
               for name, inside in members.items()}
    rows, direct = floor_rows(between), reduced(between)
    columns = {name: max(1, 7 // len(row)) for row in rows for name in row}
    floors = {name: Floor(name, inside, uses, direct[name], columns[name]) for name, inside in members.items()}
    places, height = place(floors, rows)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-10 0 {PAGE + 20} {height}" font-family="sans-serif">',
             '<style>.floor{font-size:14px;font-weight:bold}.room{font-size:13px;font-weight:bold}'
             '.uses{font-size:11px;font-weight:normal;fill:#444}</style>',
             '<defs><marker id="head" markerWidth="8" markerHeight="8" refX="5" refY="3" orient="auto">'
             '<path d="M0,0 L6,3 L0,6 z" fill="#333"/></marker></defs>',
             f'<rect x="-10" y="0" width="{PAGE + 20}" height="{height}" fill="#fff"/>',
             '<text x="0" y="22" font-size="16">The rooms of Lockstep: includes go downward only</text>']
    for name, (left, top, width, _) in places.items():
        parts.extend(floors[name].draw(left, top, width))
    for row, next_row in zip(rows, rows[1:]):
        parts += [arrow(places[name], places[other]) for name in row for other in sorted(direct[name] & set(next_row))]
    return '\n'.join(parts) + '\n</svg>\n'


def main():
    rooms = layers_test.read(os.path.join(ROOT, 'cmake', 'rooms.txt')).split()
    uses = includes(ROOT, rooms)
    drawn = picture(rooms, uses)
    if sys.argv[1:] != ['--check']:
        with open(PICTURE, 'w', encoding='utf-8') as file:
            file.write(drawn)
        return 0
    planted = {room: below - {'data/storage'} for room, below in uses.items()}
    if picture(rooms, planted) == drawn:
        print('the check itself is wrong: a picture without the arrows to data/storage is the same')
        return 1
    if not os.path.exists(PICTURE) or layers_test.read(PICTURE) != drawn:
        print('docs/architecture.svg is not what the includes say; draw it again by docs/draw_rooms.py')
        return 1
    page = layers_test.read(os.path.join(ROOT, 'docs', 'architecture.md'))
    missing = [room for room in rooms if f'\n| `{room}` | ' not in page]
    if missing:
        print('docs/architecture.md has no line for ' + ', '.join(missing))
        return 1
    print('docs/architecture.svg is up to date')
    return 0


if __name__ == '__main__':
    sys.exit(main())
