#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of bench/compare.py: rows, parsing, the repeats of rounds that were not quiet, tables. They need no torch."""
import contextlib
import io
import json
import os
import pathlib
import re
import signal
import stat
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))

import compare  # noqa: E402
from comparison import busy_loops, machine, probes, programs, reply_models, results, rows, tables, turns  # noqa: E402

BF16 = ["avx512_bf16"]
HERE = {"processor": "A processor", "cores": 2, "instructions": ["avx512f", "avx2"]}


def round_of(runs, before=100, after=100):
    return turns.Round(runs, before, after)


class Ceilings:
    """Gives the ceilings of a list, one for each call."""

    def __init__(self, *values):
        self.values = list(values)

    def __call__(self):
        return self.values.pop(0)


class Turns(unittest.TestCase):
    def measured(self, *ceilings):
        self.ran = []
        give = Ceilings(*ceilings)
        found = turns.measure_round(["ours", "PyTorch"], lambda name: self.ran.append(name) or {"n": len(self.ran)}, give)
        self.assertEqual(give.values, [])
        return found

    def test_a_quiet_round_runs_each_program_once_in_turns(self):
        found = self.measured(100, 91)
        self.assertEqual(self.ran, ["ours", "PyTorch"])
        self.assertTrue(found.quiet)
        self.assertEqual((found.before, found.after, found.tries), (100, 91, 1))

    def test_a_round_whose_ceilings_differ_by_more_than_a_tenth_is_repeated(self):
        found = self.measured(100, 89, 100, 100)
        self.assertEqual(self.ran, ["ours", "PyTorch"] * 2)
        self.assertEqual(found.runs["ours"], {"n": 3})
        self.assertEqual((found.quiet, found.tries), (True, 2))

    def test_a_ceiling_that_rises_counts_as_one_that_falls(self):
        self.assertEqual(self.measured(89, 100, 100, 100).tries, 2)

    def test_a_machine_that_is_never_quiet_gives_the_least_different_round_and_says_so(self):
        found = self.measured(100, 50, 100, 80, 100, 60, 100, 70)
        self.assertEqual((found.before, found.after, found.tries, found.quiet), (100, 80, turns.MAX_TRIES, False))
        self.assertEqual(found.runs["ours"], {"n": 3})


class Parsing(unittest.TestCase):
    def test_the_processor_is_described_by_its_instructions(self):
        found = machine.read_machine("model name\t: Some CPU @ 2 GHz\nflags\t\t: fpu avx2 avx512f amx_bf16 sse2\n", 2)
        self.assertEqual(found, {"processor": "Some CPU @ 2 GHz", "cores": 2, "instructions": ["amx_bf16", "avx512f", "avx2"]})
        self.assertEqual(machine.read_machine("", 1)["instructions"], [])

    def test_the_last_line_of_figures_counts(self):
        self.assertEqual(programs.last_figures('{"a": 1}\nonednn_verbose,x\n{"a": 2}\nwords\n'), {"a": 2})
        with self.assertRaisesRegex(ValueError, "no line of figures"):
            programs.last_figures("words\n")

    def test_perf_s_report_tells_the_shares_of_products_and_of_barriers(self):
        report = "\n".join([
            "# Overhead  Shared Object", "    60.10%  [JIT] tid 11403     ", "    20.00%  bench_train_step",
            "     4.25%  libgomp.so.1.0.0", "     0.75%  libgomp.so.1", "     1.90%  libdnnl.so.2.6"])
        self.assertAlmostEqual(probes.share_of(probes.BARRIERS, report), 0.05)
        self.assertAlmostEqual(probes.share_of(probes.PRODUCTS, report), 0.62)
        for text in ("# nothing\n", "    60.10%  bench_train_step\n"):
            with self.assertRaisesRegex(ValueError, "no line of libgomp"):
                probes.share_of(probes.BARRIERS, text)

    def test_own_products_are_found_by_their_names(self):
        report = "\n".join([
            "# Overhead  Symbol", "    20.96%  [.] lockstep::kernels::cpu::multiply_tile",
            "     5.00%  [.] void lockstep::kernels::cpu::avx2::multiply_columns<int>",
            "     3.51%  [.] lockstep::kernels::cpu::pack_panels  ", "     2.00%  [.] 0x000000000001f7da",
            "     1.00%  [k] exc_page_fault", "     0.50%  [.] lockstep::kernels::cpu::norm_row"])
        self.assertAlmostEqual(probes.share_of_functions(probes.OWN_PRODUCTS, report), 0.2947)
        self.assertEqual(probes.share_of_functions(probes.OWN_PRODUCTS, "# nothing\n"), 0)

    def test_prompts_are_the_texts_of_the_first_rows(self):
        lines = [f"text:word {i}\tlabels:other\tepisode_done:True\n" for i in range(100)]
        prompts = reply_models.prompts_of(lines)
        self.assertEqual((len(prompts), prompts[0], prompts[-1]), (64, "word 0", "word 63"))


class Rows(unittest.TestCase):
    def test_a_processor_without_bf16_has_the_rows_of_fp32_alone(self):
        for instructions in ([], ["avx2"], ["avx512f", "avx2"]):
            names = list(rows.all_rows(instructions))
            self.assertEqual([name for name in names if "bf16" in name], [])
            self.assertLessEqual({"seq2seq-fp32", "seq2seq-fp32-2-ranks", "gpt2-fp32-zero-3", "seq2seq-fp32-dropout"}, set(names))
        self.assertLessEqual({"seq2seq-fp32", "gpt2-bf16-zero-3", "seq2seq-bf16-dropout"}, set(rows.all_rows(["amx_bf16"])))

    def test_goals_of_bf16_depend_on_the_instructions(self):
        goals = {kind: [goal.goal for goal in rows.all_rows([kind])["gpt2-bf16"].goals] for kind in ("amx_bf16", "avx512_bf16")}
        self.assertEqual(goals, {"amx_bf16": [1.8, 0.75, 0.80], "avx512_bf16": [2.0, 0.88, 0.80]})

    def test_both_programs_are_held_to_avx2(self):
        row = rows.all_rows(BF16)["seq2seq-fp32-avx2"]
        caller = programs.Programs("bin", "python", None, 4, 5, 2)
        for contestant in row.contestants.values():
            environment = caller.environment(contestant, row.environment)
            self.assertEqual(environment["ONEDNN_MAX_CPU_ISA"], "AVX2")
            self.assertEqual(environment["ATEN_CPU_CAPABILITY"], "avx2")
            self.assertEqual(environment["MKL_ENABLE_INSTRUCTIONS"], "AVX2")

    def test_every_goal_names_contestants_of_its_row(self):
        for row in rows.all_rows(BF16).values():
            self.assertEqual(next(iter(row.contestants)), "ours")
            for goal in row.goals:
                self.assertLessEqual({goal.ours, *goal.others}, set(row.contestants), row.name)

    def test_rows_are_chosen_by_name_by_pattern_or_by_the_beginnings_of_names(self):
        every = rows.all_rows(BF16)
        self.assertEqual(list(compare.chosen(every, "seq2seq-bf16")), ["seq2seq-bf16"])
        self.assertEqual(list(compare.chosen(every, "*-avx2")), ["seq2seq-fp32-avx2", "gpt2-fp32-avx2"])
        self.assertEqual(list(compare.chosen(every, "short,long-f")), ["long-fp32", "short-d64", "short-d128", "short-d192"])
        with self.assertRaisesRegex(ValueError, "--rows other: no row"):
            compare.chosen(every, "short,other")

    def test_ranks_share_the_cores(self):
        row = rows.all_rows(BF16)["seq2seq-bf16-2-ranks"]
        caller = programs.Programs("bin", "python", None, 4, 5, 2)
        threads = {name: caller.environment(each, {})["OMP_NUM_THREADS"] for name, each in row.contestants.items()}
        self.assertEqual(threads, {"ours": "2", "1 rank": "4", "DDP": "2"})
        self.assertEqual(caller.command(row.contestants["ours"])[-6:], ["--ranks", "2", "--steps", "5", "--warmup", "2"])
        self.assertIn("torch.distributed.run", caller.command(row.contestants["DDP"]))


class Busy(unittest.TestCase):
    def test_every_program_of_a_busy_row_but_ours_alone_runs_beside_one_loop(self):
        for instructions in ([], BF16):
            found = compare.chosen(rows.all_rows(instructions), "*-busy")
            self.assertEqual(len(found), len(rows.BUSY) + 1)
            for row in found.values():
                loops = {name: each.busy_loops for name, each in row.contestants.items()}
                self.assertEqual(loops, {name: 0 if name == "ours, alone" else 1 for name in loops}, row.name)

    def test_no_other_row_has_a_loop_or_a_wait_policy(self):
        for name, row in rows.all_rows(BF16).items():
            if not name.endswith("-busy"):
                self.assertEqual({(each.busy_loops, each.environment) for each in row.contestants.values()}, {(0, ())}, name)

    def test_the_passive_contestants_wait_passively_and_the_others_as_they_come(self):
        caller = programs.Programs("bin", "python", None, 4, 5, 2)
        for row in compare.chosen(rows.all_rows(BF16), "*-busy").values():
            passive = {name for name, each in row.contestants.items()
                       if caller.environment(each, {}).get("OMP_WAIT_POLICY") == "passive"}
            self.assertEqual(passive, {name for name in row.contestants if "passive" in name}, row.name)

    def test_loops_run_while_the_program_does_and_no_longer(self):
        caller = programs.Programs("bin", "python", None, 4, 5, 2)
        seen = []
        caller.figures = lambda contestant, held: seen.append([loop.poll() for loop in started[0]]) or {"n": 1}
        started = []

        @contextlib.contextmanager
        def recorded(count):
            with busy_loops.busy_loops(count) as loops:
                started.append(loops)
                yield loops

        with unittest.mock.patch.object(programs, "busy_loops", recorded):
            self.assertEqual(caller.run(rows.step([], busy_loops=2), {}), {"n": 1})
        self.assertEqual(seen, [[None, None]])
        self.assertEqual([loop.poll() for loop in started[0]], [-signal.SIGKILL] * 2)

    def test_a_loop_ends_after_the_comparison_was_killed(self):
        code = ("import sys; sys.path.insert(0, sys.argv[1])\nfrom comparison.busy_loops import busy_loops\n"
                "with busy_loops(2) as loops:\n    print('begun', flush=True)\n    loops[0].wait()\n")
        # The loops hold the pipe open as long as they run.
        with subprocess.Popen([sys.executable, "-c", code, str(ROOT / "bench")], stdout=subprocess.PIPE, text=True) as comparison:
            self.assertEqual(comparison.stdout.readline(), "begun\n")
            comparison.kill()
            self.assertEqual(comparison.stdout.read(), "")

    def test_a_program_ends_with_a_comparison_that_is_stopped(self):
        code = ("import sys; sys.path.insert(0, sys.argv[1])\nimport compare\nfrom comparison import programs\n"
                "caller = programs.Programs('bin', 'python', None, 4, 5, 2)\n"
                "compare.run = lambda options: caller.output(['sh', '-c', 'echo begun >&3; exec sleep 600'], None)\n"
                "programs.subprocess.Popen = lambda *a, popen=programs.subprocess.Popen, **k: popen(*a, pass_fds=[3], **k)\n"
                "sys.argv[1:] = []\ncompare.main()\n")
        read, write = os.pipe()
        # The program holds the pipe open as long as it runs.
        with subprocess.Popen(["bash", "-c", f"exec \"$@\" 3>&{write}", "bash", sys.executable, "-c", code, str(ROOT / "bench")],
                              pass_fds=[write]) as comparison, open(read, encoding="utf-8") as pipe:
            os.close(write)
            self.assertEqual(pipe.readline(), "begun\n")
            comparison.terminate()
            self.assertEqual(comparison.wait(), 128 + signal.SIGTERM)
            self.assertEqual(pipe.read(), "")


class Folders(unittest.TestCase):
    def test_scripts_build_in_no_folder_that_build_has_itself(self):
        # build/bench is the part of build/ that is built from bench/: another build there ends `cmake --install build`.
        scripts = [path for path in (ROOT / "bench").glob("*.sh") if "BENCH_BUILD:-" in path.read_text()]
        self.assertGreater(len(scripts), 0)
        for script in scripts:
            folder = re.search(r"BENCH_BUILD:-build/([^}/]+)}", script.read_text()).group(1)
            self.assertFalse((ROOT / folder).exists(), script)


class Programs:
    """Stands for the programs of a folder: some are missing, some fail."""

    def __init__(self, lacking=(), failing=()):
        self.without, self.failing = lacking, failing

    def lacking(self, contestant):
        return "it is not there" if contestant.program in self.without else None

    def ceiling(self, dtype, held):
        return 100

    def run(self, contestant, held):
        if contestant.program in self.failing:
            raise RuntimeError("the program failed")
        return {"tokens_per_s": 7}


class Measuring(unittest.TestCase):
    def measure(self, names, **programs):
        every, self.results = rows.all_rows(BF16), results.Results(None, HERE)
        chosen = {name: every[name] for name in names}
        with contextlib.redirect_stderr(io.StringIO()) as self.said:
            return compare.measure(chosen, Programs(**programs), 1, self.results, {"commit": "abc"})

    def test_a_missing_peer_leaves_the_row_s_others(self):
        self.assertEqual(self.measure(["seq2seq-bf16"], lacking=["torch"]), 0)
        (only,) = self.results.rounds["seq2seq-bf16"]
        self.assertEqual((list(only.runs), only.taken), (["ours"], {"commit": "abc"}))
        self.assertIn("seq2seq-bf16: without PyTorch, because it is not there", self.said.getvalue())

    def test_a_row_without_our_program_is_left_out(self):
        self.assertEqual(self.measure(["seq2seq-bf16"], lacking=["step"]), 0)
        self.assertEqual((self.results.rounds, self.results.skipped), ({}, {"seq2seq-bf16": "it is not there"}))

    def test_a_program_that_fails_leaves_the_other_rows(self):
        self.assertEqual(self.measure(["seq2seq-bf16", "seq2seq-bf16-first-step"], failing=["torch"]), 1)
        self.assertEqual(list(self.results.rounds), ["seq2seq-bf16-first-step"])
        self.assertEqual(self.results.skipped, {"seq2seq-bf16": "a program failed"})
        self.assertIn("seq2seq-bf16: the program failed", self.said.getvalue())


class Tables(unittest.TestCase):
    def setUp(self):
        self.row = rows.all_rows(["avx512f"])["seq2seq-fp32"]
        self.results = results.Results(None, HERE)
        for ours in (100, 220, 200):
            self.results.add("seq2seq-fp32", round_of({
                "ours": dict(tokens_per_s=ours, gflops=90, ceiling_gflops=100, step_ms=7, step_peak_bytes=50e6),
                rows.EAGER: dict(tokens_per_s=50, step_ms=9, step_peak_bytes=80e6),
                rows.COMPILED: dict(tokens_per_s=100, step_ms=8, step_peak_bytes=100e6)}))

    def values(self):
        return [tables.value_of(goal, self.results.rounds["seq2seq-fp32"]) for goal in self.row.goals]

    def test_medians_are_compared_with_the_fastest_peer(self):
        self.assertEqual(self.values(), [2.0, 0.9, 0.5])

    def test_a_missing_peer_leaves_the_others(self):
        for each in self.results.rounds["seq2seq-fp32"]:
            del each.runs[rows.COMPILED]
        self.assertEqual(self.values(), [4.0, 0.9, 0.625])

    def test_the_goals_table_has_a_line_for_each_row(self):
        self.assertEqual(tables.goals_table({"seq2seq-fp32": self.row}, self.results)[2:], [
            "| seq2seq-fp32 | x the best PyTorch 2.00 (≥1.8, products alone 2.22); share of the ceiling 0.90 (≥0.9); "
            "peak memory / the best PyTorch's 0.50 (≤0.55) |"])

    def test_a_missed_goal_is_bold(self):
        slow = [round_of({"ours": dict(tokens_per_s=50, gflops=50, ceiling_gflops=100), rows.EAGER: dict(tokens_per_s=50)})]
        self.assertEqual(tables.goal_text(self.row, self.row.goals[0], slow),
                         "x the best PyTorch **1.00** (≥1.8, products alone 2.00)")

    def test_a_goal_of_at_most_is_missed_above_it(self):
        goal = rows.Goal("", "memory", 0.55)
        self.assertEqual([tables.reached(goal, value) for value in (0.55, 0.56)], [True, False])

    def test_step_times_become_ratios(self):
        rounds = [round_of({"ours": dict(step_ms=12, first_ms=18, barriers=0.03, products=0.8, batch_ms=5)})]
        found = {of: tables.value_of(rows.Goal("", of, 1), rounds) for of in ("products", "first", "barriers", "batch_ms")}
        self.assertEqual(found, {"products": 1.25, "first": 1.5, "barriers": 0.03, "batch_ms": 5})

    def test_a_row_that_could_not_run_says_why(self):
        self.results.skip("short-d64", "the Python has no torch")
        lines = tables.goals_table({"short-d64": rows.short_row(64)}, self.results)
        self.assertIn("not measured: the Python has no torch", lines[2])

    def test_the_rates_table_tells_rounds_that_were_not_quiet(self):
        self.results.add("seq2seq-fp32", round_of({}, 100, 80))
        lines = tables.rates_table({"seq2seq-fp32": self.row}, self.results)
        self.assertEqual(lines[2], f"| seq2seq-fp32 | ours; {rows.EAGER}; {rows.COMPILED} | 200; 50; 100 | 7.00; 9.00; 8.00 | 90; -; - | "
                                   "50; 80; 100 | 80-100 | 4, 1 of them not quiet |")

    def test_the_page_tells_how_each_round_was_taken(self):
        taken = dict(date="2026-01-02", commit="abc", steps=5, warmup=2)
        for more in (taken, {**taken, "date": "2026-01-01", "commit": "def"}, {**taken, "steps": 9}):
            self.results.add("a", turns.Round({}, 100, 100, 1, more))
        self.assertEqual(tables.settings_line({"a": None}, self.results),
                         "The figures are medians over rounds of `bench/compare.py` with --steps 5 --warmup 2 or --steps 9 "
                         "--warmup 2, measured from 2026-01-01 to 2026-01-02 at abc, def.")
        self.assertIn("not known", tables.settings_line({"seq2seq-fp32": None}, self.results))

    def test_only_what_is_between_the_markers_is_replaced(self):
        page = f"before\n{tables.begin_of('goals')}\nold\n{tables.END}\nmiddle\n{tables.begin_of('rates')}\nold\n{tables.END}\nafter\n"
        expected = page.replace("old", "new \\1", 1)
        self.assertEqual(tables.written(page, {"goals": "new \\1"}), expected)
        self.assertEqual(tables.written(expected, {"goals": "new \\1"}), expected)
        with self.assertRaisesRegex(ValueError, "once, around the table rates"):
            tables.written("none", {"rates": ""})

    def test_the_page_of_the_repository_has_the_markers(self):
        page = (ROOT / "docs/performance.md").read_text()
        texts = tables.sections({}, self.results)
        self.assertNotEqual(tables.written(page, texts), page)
        self.assertIn("2 cores of A processor with the instructions avx512f, avx2", texts["goals"])


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_results_survive_a_stop_and_refuse_another_machine(self):
        path = str(self.folder / "results.json")
        first = results.Results(path, HERE)
        first.skip("a", "no torch")
        first.skip("b", "no perf")
        first.add("a", turns.Round({"ours": {"n": 1}}, 5, 4, 1, {"commit": "abc"}))
        again = results.Results(path, HERE)
        self.assertEqual((again.rounds, again.skipped), ({"a": [turns.Round({"ours": {"n": 1}}, 5, 4, 1, {"commit": "abc"})]}, {"b": "no perf"}))
        with self.assertRaisesRegex(ValueError, "another machine"):
            results.Results(path, {**HERE, "cores": 8})
        for text in ("[]", '{"machine"'):
            pathlib.Path(path).write_text(text)
            with self.assertRaisesRegex(ValueError, "results.json: is not a results file"):
                results.Results(path, HERE)

    def test_a_page_is_not_written_from_some_rows(self):
        every = rows.all_rows(BF16)
        some = results.Results(None, HERE)
        for name in list(every)[1:]:
            some.skip(name, "no torch")
        page = self.folder / "page.md"
        page.write_text(f"{tables.begin_of('goals')}\n{tables.END}\n")
        with self.assertRaisesRegex(ValueError, "these lack: seq2seq-bf16$"):
            compare.write_page(page, every, some, {"goals": "new"})
        some.skip("seq2seq-bf16", "no torch")
        compare.write_page(page, every, some, {"goals": "new"})
        self.assertEqual(page.read_text(), f"{tables.begin_of('goals')}\nnew\n{tables.END}\n")

    def test_the_program_measures_a_row_with_the_programs_of_a_folder(self):
        program = self.folder / "bench_train_step"
        program.write_text(f"#!{sys.executable}\nimport json, sys\nprint(json.dumps(dict(ceiling_gflops=100, gflops=50, step_ms=2, "
                           "first_ms=3, tokens_per_s=7, step_peak_bytes=1e6)))\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        out = self.folder / "results.json"
        done = subprocess.run([sys.executable, ROOT / "bench/compare.py", "--bin", self.folder, "--rounds", "2", "--out", out,
                               "--rows", "*-first-step"], capture_output=True, text=True, env=dict(os.environ))
        self.assertEqual(done.returncode, 0, done.stderr)
        ((name, rounds),) = json.loads(out.read_text())["rounds"].items()
        self.assertEqual(len(rounds), 2)
        self.assertIn(f"| {name} | step 1 / a later one 1.50 (≤1.5) |", done.stdout)


if __name__ == "__main__":
    unittest.main()
