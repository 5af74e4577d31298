// SPDX-License-Identifier: Apache-2.0
#include "data/splits/unit_split.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/core/error.hpp"
#include "runtime/core/philox.hpp"

namespace lockstep::data {
namespace {

struct Counts {
    std::uint64_t valid, test;
};

std::uint64_t share(double fraction, std::uint64_t units) {
    if (fraction == 0) return 0;
    const double exact = std::round(fraction * static_cast<double>(units));
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(exact));
}

Counts counts_of(const HeldOut& wanted, std::uint64_t units, std::string_view unit,
                 const std::string& path) {
    Counts counts{share(wanted.valid, units), share(wanted.test, units)};
    const std::uint64_t splits = 1 + (counts.valid > 0 ? 1u : 0u) + (counts.test > 0 ? 1u : 0u);
    if (units < splits)
        throw Error(ErrorKind::config, path + ": has " + std::to_string(units) + " of the " +
                                           std::to_string(splits) + " " + std::string(unit) +
                                           " that its splits need; add text, or leave out "
                                           "--valid-fraction and --test-fraction" +
                                           (unit == "stretches of text"
                                                ? " (a line is never cut: fold -s cuts long ones)"
                                                : ""));
    // Rounding may have taken all.
    std::uint64_t& larger = counts.valid >= counts.test ? counts.valid : counts.test;
    const std::uint64_t taken = counts.valid + counts.test;
    if (taken >= units) larger -= taken + 1 - units;
    return counts;
}

// These keep the two choices of a seed apart.
constexpr std::uint64_t held_out_stream = 0x68656c64, test_stream = 0x74657374;

}  // namespace

const char* name(SplitPart part) noexcept {
    switch (part) {
        case SplitPart::train:
            return format::train_split;
        case SplitPart::valid:
            return format::valid_split;
        case SplitPart::test:
            break;
    }
    return format::test_split;
}

StratifiedSample::StratifiedSample(std::uint64_t all, std::uint64_t chosen,
                                   std::uint64_t key) noexcept
    : chosen_(chosen),
      short_run_(chosen > 0 ? all / chosen : 0),
      long_runs_(chosen > 0 ? all % chosen : 0),
      key_(key) {}

std::optional<std::uint64_t> StratifiedSample::run_of(std::uint64_t number) const noexcept {
    if (chosen_ == 0) return std::nullopt;
    const std::uint64_t long_run = short_run_ + 1, in_long_runs = long_runs_ * long_run;
    const bool in_long = number < in_long_runs;
    const std::uint64_t length = in_long ? long_run : short_run_;
    const std::uint64_t rest = in_long ? number : number - in_long_runs;
    const std::uint64_t run = (in_long ? 0 : long_runs_) + rest / length;
    const PhiloxBlock words = philox(
        {static_cast<std::uint32_t>(run), static_cast<std::uint32_t>(run >> 32), 0, 0}, key_);
    const std::uint64_t word = std::uint64_t{words[0]} << 32 | words[1];
    if (rest % length != word % length) return std::nullopt;
    return run;
}

UnitSplit::UnitSplit(const HeldOut& wanted, std::uint64_t units, std::string_view unit,
                     const std::string& path)
    : units_(units), held_out_(0, 0, 0), test_(0, 0, 0) {
    const Counts counts = counts_of(wanted, units, unit, path);
    const std::uint64_t held_out = counts.valid + counts.test;
    held_out_ = StratifiedSample(units, held_out, mix(wanted.seed, held_out_stream));
    test_ = StratifiedSample(held_out, counts.test, mix(wanted.seed, test_stream));
}

SplitPart UnitSplit::part_of(std::uint64_t number) const noexcept {
    const auto run = held_out_.run_of(number);
    if (!run) return SplitPart::train;
    return test_.run_of(*run) ? SplitPart::test : SplitPart::valid;
}

std::uint64_t UnitSplit::units(SplitPart part) const noexcept {
    switch (part) {
        case SplitPart::train:
            return units_ - held_out_.chosen();
        case SplitPart::valid:
            return held_out_.chosen() - test_.chosen();
        case SplitPart::test:
            break;
    }
    return test_.chosen();
}

}  // namespace lockstep::data
