// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runtime/comm/watch/stragglers.hpp"
#include "runtime/comm/watch/watch_record.hpp"
#include "runtime/comm/watch/watch_verdict.hpp"
#include "tests/fuzz/target.hpp"

using namespace lockstep;

namespace {

constexpr char between_records = '\x1e';

comm::Sighting sighting_of(std::string_view text) {
    comm::Sighting sighting{.record = comm::decode_watch_record(text)};
    if (!sighting.record) return sighting;
    const auto again = comm::decode_watch_record(encode(*sighting.record));
    fuzz::expect(again && encode(*again) == encode(*sighting.record),
                 "a record that is another after it was written");
    (void)sighting.record->position();
    return sighting;
}

}  // namespace

// The input is the records of some ranks, from which the watchdog draws its conclusions.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view text = fuzz::text_of(data, size);
    fuzz::expect_answer([&] { (void)comm::decode_verdict(text); });
    std::vector<comm::Sighting> ranks;
    do {
        const std::size_t end = std::min(text.find(between_records), text.size());
        ranks.push_back(sighting_of(text.substr(0, end)));
        text.remove_prefix(std::min(end + 1, text.size()));
    } while (!text.empty());
    (void)comm::judge(ranks, {});
    comm::Stragglers stragglers;
    (void)stragglers.look(ranks);
    return 0;
}
