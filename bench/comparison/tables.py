# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/performance.md, made of results."""
import re
import statistics

AT_MOST = ("memory", "products", "barriers", "first", "batch_ms")


def median(rounds, name, key):
    """Returns the median over the rounds in which the contestant has this figure, or None."""
    values = [each.runs[name][key] for each in rounds if key in each.runs.get(name, {})]
    return statistics.median(values) if values else None


def fastest(rounds, names):
    rates = {name: median(rounds, name, "tokens_per_s") for name in names}
    known = {name: rate for name, rate in rates.items() if rate is not None}
    return max(known, key=known.get, default=None)


def ratio(rounds, ours, other, key):
    mine = median(rounds, ours, key)
    theirs = median(rounds, other, key) if other else None
    return mine / theirs if mine is not None and theirs else None


def value_of(goal, rounds):
    """Returns the figure of a goal as a number, or None if it was not measured."""
    if goal.of in ("rate", "memory"):
        key = "tokens_per_s" if goal.of == "rate" else "step_peak_bytes"
        return ratio(rounds, goal.ours, fastest(rounds, goal.others), key)
    if goal.of == "ceiling":
        runs = [each.runs[goal.ours] for each in rounds if goal.ours in each.runs]
        return statistics.median(run["gflops"] / run["ceiling_gflops"] for run in runs) if runs else None
    if goal.of == "products":
        share = median(rounds, goal.ours, "products")
        return 1 / share if share else None
    if goal.of == "first":
        first, later = median(rounds, goal.ours, "first_ms"), median(rounds, goal.ours, "step_ms")
        return first / later if first is not None and later else None
    return median(rounds, goal.ours, goal.of)


def reached(goal, value):
    return value <= goal.goal if goal.of in AT_MOST else value >= goal.goal


def at_ceiling(row, goal, rounds):
    """Returns what a program that did nothing but the products, at the ceiling, would reach against the peer, or None."""
    shares = [value_of(other, rounds) for other in row.goals if other.of == "ceiling"]
    value = value_of(goal, rounds)
    return value / shares[0] if goal.of == "rate" and value is not None and shares and shares[0] else None


def decimal(value):
    return "-" if value is None else f"{value:.2f}"


def goal_text(row, goal, rounds):
    value, alone = value_of(goal, rounds), at_ceiling(row, goal, rounds)
    figure = decimal(value) if value is None or reached(goal, value) else f"**{decimal(value)}**"
    bound = f"{'≤' if goal.of in AT_MOST else '≥'}{goal.goal:g}"
    return f"{goal.what} {figure} ({bound}{'' if alone is None else f', products alone {decimal(alone)}'})"


def goals_table(rows, results):
    """Returns a line for each row. Missed goals are bold."""
    lines = ["| row | measured (goal) |", "| --- | --- |"]
    for row in rows.values():
        rounds = results.rounds.get(row.name)
        if not rounds:
            lines.append(f"| {row.name} | not measured: {results.skipped.get(row.name, 'not asked for')} |")
        else:
            lines.append(f"| {row.name} | {'; '.join(goal_text(row, goal, rounds) for goal in row.goals)} |")
    return lines


def rates_of(rounds, name):
    duration, peak = median(rounds, name, "step_ms"), median(rounds, name, "step_peak_bytes")
    figures = [median(rounds, name, "tokens_per_s"), median(rounds, name, "batch_ms") if duration is None else duration,
               median(rounds, name, "gflops"), None if peak is None else peak / 1e6]
    return ["-" if figure is None else f"{figure:,.0f}" if figure >= 10 else f"{figure:.2f}" for figure in figures]


def rates_table(rows, results):
    """Returns a line for each row; the programs of a row share it, in one order in every cell."""
    lines = ["| row | programs | tokens/s | ms | GFLOP/s | peak MB | ceiling, GFLOP/s (least-most) | rounds |",
             "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for row in rows.values():
        rounds = results.rounds.get(row.name, [])
        ceilings = [ceiling for each in rounds for ceiling in (each.before, each.after)]
        noisy = sum(not each.quiet for each in rounds)
        count = f"{len(rounds)}, {noisy} of them not quiet" if noisy else f"{len(rounds)}"
        if rounds:
            cells = zip(*(rates_of(rounds, name) for name in row.contestants))
            lines.append(f"| {row.name} | {'; '.join(row.contestants)} | {' | '.join(map('; '.join, cells))} | "
                         f"{min(ceilings):.0f}-{max(ceilings):.0f} | {count} |")
    return lines


def machine_line(machine):
    instructions = ", ".join(machine["instructions"]) or "none of those that matter"
    return f"The machine is {machine['cores']} cores of {machine['processor']} with the instructions {instructions}."


def settings_line(rows, results):
    """Tells how the rounds of these rows were taken, which a results file may have collected over days and commits."""
    rounds = [each for row in rows for each in results.rounds.get(row, [])]
    taken = [each.taken for each in rounds if each.taken]
    if not taken:
        return "It is not known when the figures were measured."
    others = "" if len(taken) == len(rounds) else " It is not known when other rounds were."
    dates, commits = sorted({each["date"] for each in taken}), list(dict.fromkeys(each["commit"] for each in taken))
    steps = sorted({(each["steps"], each["warmup"]) for each in taken})
    return (f"The figures are medians over rounds of `bench/compare.py` with "
            f"{' or '.join(f'--steps {timed} --warmup {untimed}' for timed, untimed in steps)}, measured "
            f"{'on ' + dates[0] if len(dates) == 1 else f'from {dates[0]} to {dates[-1]}'} at {', '.join(commits)}.{others}")


def sections(rows, results):
    """Returns the text between the markers of each name."""
    goals = [f"{machine_line(results.machine)} {settings_line(rows, results)}", "", *goals_table(rows, results)]
    return {"goals": "\n".join(goals), "rates": "\n".join(rates_table(rows, results))}


def begin_of(name):
    return f"<!-- bench/compare.py writes {name} -->"


END = "<!-- the end of what it writes -->"


def written(page, texts):
    """Returns the page with each text in place of what is between its markers. Throws ValueError without the markers."""
    for name, text in texts.items():
        parts = re.compile(f"{re.escape(begin_of(name))}.*?{re.escape(END)}", re.DOTALL)
        if len(parts.findall(page)) != 1:
            raise ValueError(f"the page needs {begin_of(name)} and {END} once, around the table {name}")
        page = parts.sub(lambda _: f"{begin_of(name)}\n{text}\n{END}", page)
    return page
