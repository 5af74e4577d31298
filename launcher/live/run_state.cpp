// SPDX-License-Identifier: Apache-2.0
#include "launcher/live/run_state.hpp"

#include <algorithm>

#include "launcher/report/charts/numbers.hpp"
#include "launcher/report/ending.hpp"
#include "runtime/core/error.hpp"
#include "runtime/train/folder/lock_file.hpp"

namespace lockstep::launcher::live {

namespace {

// What the lock in the folder says; gone: there is none.
struct Locked {
    train::OwnerState state = train::OwnerState::gone;
    std::string owner;  // empty: there is no lock
};

Locked lock_of(const std::string& folder) {
    try {
        const train::LockContent lock = train::read_lock(folder + "/" + train::lock_name);
        if (!lock.owner) return {};
        return {train::state_of(*lock.owner, train::this_process()), train::name(*lock.owner)};
    } catch (const Error&) {
        return {};
    }
}

RunState state_by_lock(const Locked& lock, const RunState& without) {
    if (lock.owner.empty()) return without;
    switch (lock.state) {
        case train::OwnerState::alive:
            return {Going::on, "Going on: " + lock.owner + " has the folder"};
        case train::OwnerState::cannot_be_asked:
            return {Going::on, "Going on, or ended without a word: " + lock.owner +
                                   " has the folder, and cannot be asked from here"};
        case train::OwnerState::requeued:
            return {Going::silent, "Slurm has ended " + lock.owner + ", and starts it again"};
        case train::OwnerState::gone:
            break;
    }
    return {Going::silent, "Ended without a word: " + lock.owner + " is gone (killed?)"};
}

double limit_of(const report::Run& run, const char* option) {
    if (!run.saved) return 0;
    return report::number_of(report::text_of(run.saved->options, option)).value_or(0);
}

}  // namespace

RunState state_of(const report::Run& run) {
    const report::Ending end = report::ending(run);
    switch (end.kind) {
        case report::EndKind::failed:
            return {Going::failed, "Failed: " + end.text};
        case report::EndKind::ended:
            // It may be continued with a larger limit.
            if (const Locked lock = lock_of(run.folder); lock.state == train::OwnerState::alive)
                return state_by_lock(lock, {Going::ended, end.text});
            return {Going::ended, end.text};
        case report::EndKind::stopped:
            return state_by_lock(lock_of(run.folder), {Going::stopped, end.text});
        case report::EndKind::open:
            break;
    }
    return state_by_lock(lock_of(run.folder),
                         {Going::silent, "Ended without a word: no process has the folder"});
}

RunState state_without_lines(const std::string& folder, const std::string& why) {
    return state_by_lock(lock_of(folder), {Going::silent, why});
}

std::optional<Reached> reached(const report::Run& run, const RankStates& states) {
    const RunLimits limits = states.limits.value_or(RunLimits{limit_of(run, "num-epochs"),
                                                              limit_of(run, "max-train-steps"),
                                                              limit_of(run, "max-train-time")});
    const report::History& history = run.history;
    const double trained_s = history.train("seconds").total();
    double share = 0;
    const auto reach = [&share](double done, double limit) {
        if (limit > 0) share = std::max(share, std::clamp(done / limit, 0.0, 1.0));
    };
    reach(history.epoch(), limits.epochs);
    reach(static_cast<double>(history.updates()), limits.updates);
    reach(trained_s, limits.seconds);
    if (share <= 0) return std::nullopt;
    const double all_s = trained_s + history.valid("seconds").total();
    return Reached{share, all_s / share * (1 - share)};
}

}  // namespace lockstep::launcher::live
