// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/checked_source.hpp"

#include <cmath>

#include "launcher/text/units.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

namespace {

// Describes the passes over a set up to the end of an epoch.
struct Passes {
    Passes(const data::SetShare& share, std::int64_t epoch)
        : rows(share.rows),
          first(share.passes_before(epoch)),
          end(share.passes_before(epoch + 1)),
          open_rows((epoch + 1) * share.rows_per_epoch - end * share.rows) {}

    std::int64_t rows, first, end;
    std::int64_t open_rows;  // used rows of the unfinished pass
};

void require_complete(const data::SetCoverage& used, const Passes& passes,
                      const std::string& whose) {
    const bool complete =
        used.completed == data::complete_coverage(passes.first, passes.end, passes.rows);
    if (complete && used.open.rows == passes.open_rows) return;
    const std::int64_t expected = (passes.end - passes.first) * passes.rows + passes.open_rows;
    throw Error(ErrorKind::contract,
                whose + "of " + std::to_string(expected) + " rows " +
                    std::to_string(used.completed.rows + used.open.rows) +
                    " were used, or some twice; the ranks did not read the same data set");
}

std::string text_of(const data::SetShare& share, const Passes& passes) {
    if (share.rows_per_epoch == 0) return "not used";
    std::string text = std::to_string(share.rows_per_epoch) + " rows";
    if (passes.end > passes.first) {
        const bool one = passes.end == passes.first + 1;
        text += (one ? ", pass " : ", passes " + std::to_string(passes.first + 1) + " to ") +
                std::to_string(passes.end) + " complete, each of " + std::to_string(passes.rows) +
                " rows used exactly once" + (one ? "" : " in each");
    }
    if (passes.open_rows > 0)
        text += ", pass " + std::to_string(passes.end + 1) + " at " +
                std::to_string(passes.open_rows) + " of " + std::to_string(passes.rows);
    return text;
}

}  // namespace

data::Usage CheckedSource::usage_of_all() const {
    const data::Usage& mine = loader_.usage();
    std::vector<double> sums{static_cast<double>(mine.truncated_rows)};
    for (const data::SetCoverage& set : mine.sets)
        for (const data::Coverage* part : {&set.completed, &set.open}) {
            sums.push_back(static_cast<double>(part->rows));
            sums.push_back(static_cast<double>(part->hash));
        }
    for (double& sum : sums) sum *= share_;
    communicator_.all_reduce(HostView<double>(sums.data(), sums.size()), comm::ReduceOp::sum,
                             "coverage");
    communicator_.finish();
    data::Usage all;
    all.truncated_rows = static_cast<std::int64_t>(sums[0]);
    const auto coverage = [&sums](std::size_t at) {
        return data::Coverage{static_cast<std::int64_t>(sums[at]),
                              static_cast<std::uint32_t>(std::fmod(sums[at + 1], 0x1p32))};
    };
    for (std::size_t at = 1; at < sums.size(); at += 4)
        all.sets.push_back({coverage(at), coverage(at + 2)});
    return all;
}

std::int64_t CheckedSource::rows_of_all() const {
    double rows = share_ * static_cast<double>(loader_.usage().rows);
    communicator_.all_reduce(HostView<double>(&rows, 1), comm::ReduceOp::sum, "coverage");
    communicator_.finish();
    return static_cast<std::int64_t>(rows);
}

void CheckedSource::next_epoch() {
    const data::Usage used = usage_of_all();
    const std::vector<data::SetShare> shares = loader_.sets();
    const std::string epoch = "epoch " + std::to_string(epoch_ + 1) + ": ";
    std::string text;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        const bool several = shares.size() > 1;
        const Passes passes(shares[i], epoch_);
        require_complete(used.sets.at(i), passes, epoch + (several ? names_.at(i) + ": " : ""));
        text += several ? (i > 0 ? "; " : "") + names_[i] + ": " + text_of(shares[i], passes)
                        : "each of " + std::to_string(passes.rows) + " rows used exactly once";
    }
    if (used.truncated_rows > 0)
        text += (shares.size() > 1 ? "; in all " : ", ") + std::to_string(used.truncated_rows) +
                " of them truncated";
    log_.info(epoch + text);
    loader_.next_epoch();
    ++epoch_;
}

void CheckedSource::seek(train::Position position) {
    loader_.seek(position);
    epoch_ = position.epoch;
    const std::int64_t used = rows_of_all();
    if (position.rows_in_epoch < 0 || used == position.rows_in_epoch) return;
    communicator_.leave_together();  // all ranks have the same sum
    throw Error(ErrorKind::config,
                "epoch " + std::to_string(epoch_ + 1) + ": the checkpoint used " +
                    counted(position.rows_in_epoch, "row", "rows") +
                    " of it, but with these options its first " +
                    counted(position.step_in_epoch, "step uses", "steps use") + " " +
                    std::to_string(used) +
                    "; continue with the options and the data that the epoch began with");
}

}  // namespace lockstep::launcher
