#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/quick.sh finds the tests of a room and of the rooms that include it.   tests/quick_test.py BUILD"""
import os
import re
import shlex
import subprocess
import sys
import unittest

from compile_commands import ROOT, all_files, read
from room_tests import tested_folders

BUILD = os.path.realpath(sys.argv.pop(1))


def listed(*words):
    """What tests/quick.sh --list prints: for each program the folders whose tests it runs."""
    run = subprocess.run([os.path.join(ROOT, 'tests/quick.sh'), '--list', *words], capture_output=True, text=True,
                         env={**os.environ, 'BUILD': BUILD})
    folders = {}
    for line in run.stdout.splitlines():
        command = [word for word in shlex.split(line) if '/bin/' in word or word.startswith('-sf=')]
        folders[os.path.basename(command[0])] = set(re.findall(r'\*/tests/([^,]*)/\*_test\.cpp', command[1]))
    return run.returncode, folders, run.stderr


class QuickTests(unittest.TestCase):
    def test_unit_tests_of_the_room_and_of_those_that_include_it(self):
        code, folders, _ = listed('launcher/slurm')
        self.assertEqual((code, folders['sbatch_script_tests']), (0, {'launcher/slurm'}))
        self.assertEqual(folders['submit_tests'], {'launcher/programs'})
        # It only starts the program; comm is before the room.
        self.assertNotIn('conversation_tests', folders)
        self.assertNotIn('comm_tests', folders)

    def test_a_room_that_is_asked_for_has_all_its_tests(self):
        self.assertEqual(listed('launcher/programs')[1]['conversation_tests'], {'launcher/programs'})

    def test_several_rooms_and_a_file_for_its_room(self):
        both = listed('launcher/slurm', 'launcher/ladder')[1]
        self.assertEqual(both['ladder_tests'], {'launcher/ladder'})
        self.assertEqual(both['sbatch_script_tests'], {'launcher/slurm'})
        self.assertEqual(listed('launcher/slurm/CMakeLists.txt'), listed('launcher/slurm'))

    def test_no_room_is_refused_in_one_line(self):
        for word, told in [('launcher/none', 'no such room'), ('runtime/train/', 'runtime/train'), ('data', 'data/text')]:
            code, _, error = listed(word)
            if word == 'runtime/train/':
                self.assertEqual(code, 0)
            else:
                self.assertEqual((code, error.count('\n')), (2, 1))
                self.assertIn(told, error)

    def test_every_folder_of_tests_with_a_room_is_found(self):
        rooms = read('cmake/rooms.txt').split()
        having = {os.path.dirname(path).removeprefix('tests/') for path in all_files('_test.cpp') if path.startswith('tests/')}
        self.assertLess(30, len(having & set(rooms)))
        self.assertEqual(having & set(rooms), set().union(*tested_folders(BUILD, rooms).values()))


if __name__ == '__main__':
    unittest.main()
