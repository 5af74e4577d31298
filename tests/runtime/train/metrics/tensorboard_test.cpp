// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/metrics/tensorboard.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "runtime/core/json_text.hpp"
#include "tests/runtime/train/file_size_limit.hpp"
#include "tests/runtime/train/metrics/told_folder.hpp"

using namespace lockstep;
using namespace lockstep::train;

namespace {

// Calculates bit by bit, without the table that the writer uses.
std::uint32_t slow_crc32c(std::string_view bytes) {
    std::uint32_t crc = 0xFFFFFFFFu;
    for (const char c : bytes) {
        crc ^= static_cast<unsigned char>(c);
        for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) ? crc >> 1 ^ 0x82F63B78u : crc >> 1;
    }
    return ~crc;
}

// Takes bytes from the front of a text.
class Reader {
public:
    explicit Reader(std::string_view bytes) : left_(bytes) {}

    bool done() const { return left_.empty(); }
    std::string_view take(std::size_t count) {
        REQUIRE(count <= left_.size());
        const std::string_view taken = left_.substr(0, count);
        left_.remove_prefix(count);
        return taken;
    }
    template <class T>
    T fixed() {
        T value;
        std::memcpy(&value, take(sizeof value).data(), sizeof value);
        return value;
    }
    std::uint64_t varint() {
        std::uint64_t value = 0;
        for (int shift = 0;; shift += 7) {
            const auto byte = fixed<unsigned char>();
            value |= std::uint64_t{byte & 0x7Fu} << shift;
            if (byte < 0x80) return value;
        }
    }
    // Reads a TFRecord and verifies its checksums.
    std::string_view record() {
        const std::string_view length = left_.substr(0, 8);
        const auto bytes = fixed<std::uint64_t>();
        check_crc(length);
        const std::string_view data = take(bytes);
        check_crc(data);
        return data;
    }

private:
    void check_crc(std::string_view bytes) {
        const std::uint32_t crc = slow_crc32c(bytes);
        CHECK(fixed<std::uint32_t>() == ((crc >> 15 | crc << 17) + 0xA282EAD8u));
    }

    std::string_view left_;
};

struct Event {
    double wall_time = 0;
    std::uint64_t step = 0, session_status = 0;
    std::string file_version;
    std::map<std::string, float> scalars;
};

void parse_value(std::string_view bytes, Event& event) {
    std::string tag;
    for (Reader value(bytes); !value.done();) {
        switch (value.varint()) {
            case 1 << 3 | 2:
                tag = value.take(value.varint());
                break;
            case 2 << 3 | 5:
                event.scalars[tag] = value.fixed<float>();
                break;
            default:
                FAIL("unknown field of a summary's value");
        }
    }
}

Event parse_event(std::string_view bytes) {
    Event event;
    for (Reader fields(bytes); !fields.done();) {
        switch (fields.varint()) {
            case 1 << 3 | 1:
                event.wall_time = fields.fixed<double>();
                break;
            case 2 << 3 | 0:
                event.step = fields.varint();
                break;
            case 3 << 3 | 2:
                event.file_version = fields.take(fields.varint());
                break;
            case 5 << 3 | 2:
                for (Reader summary(fields.take(fields.varint())); !summary.done();) {
                    REQUIRE(summary.varint() == (1 << 3 | 2));
                    parse_value(summary.take(summary.varint()), event);
                }
                break;
            case 7 << 3 | 2: {
                Reader session(fields.take(fields.varint()));
                REQUIRE(session.varint() == (1 << 3 | 0));
                event.session_status = session.varint();
                break;
            }
            default:
                FAIL("unknown field of an event");
        }
    }
    return event;
}

std::vector<Event> events_of(const std::string& path) {
    const std::string bytes = tests::read_text(path);
    std::vector<Event> events;
    for (Reader records(bytes); !records.done();) events.push_back(parse_event(records.record()));
    return events;
}

}  // namespace

TEST_CASE("CRC-32C of RFC 3720's examples") {
    CHECK(crc32c("123456789") == 0xE3069283u);
    CHECK(crc32c(std::string(32, '\0')) == 0x8A9136AAu);
    CHECK(crc32c(std::string(32, '\xFF')) == 0x62A8AB43u);
    CHECK(crc32c("") == 0);
}

TEST_CASE("an event file parses back") {
    tests::ToldFolder folder;
    EventFile file(folder.path(), folder.log);
    const std::vector<Scalar> scalars = {{"train/loss", 3.25f}, {std::string(200, 'x'), -1e-30f}};
    file.add_scalars(3'000'000'000, scalars);
    file.add_restart(300);

    const std::vector<Event> events = events_of(file.path());
    REQUIRE(events.size() == 3);
    CHECK(events[0].file_version == "brain.Event:2");
    CHECK(events[0].wall_time > 1.7e9);
    CHECK(events[1].step == 3'000'000'000);
    CHECK(events[1].scalars.size() == 2);
    CHECK(events[1].scalars.at("train/loss") == 3.25f);
    CHECK(events[1].scalars.at(std::string(200, 'x')) == -1e-30f);
    CHECK(events[2].step == 300);
    CHECK(events[2].session_status == 1);
}

TEST_CASE("a record that does not fit is written whole later") {
    tests::ToldFolder folder;
    EventFile file(folder.path(), folder.log);
    {
        const tests::FileSizeLimit limit(tests::read_text(file.path()).size() + 5);
        file.add_restart(1);
        file.add_restart(2);
    }
    CHECK(folder.told.str().find("(EFBIG)") != std::string::npos);
    file.add_restart(3);
    const std::vector<Event> events = events_of(file.path());
    REQUIRE(events.size() == 4);
    for (std::size_t i = 1; i < events.size(); ++i)
        CHECK(events[i].step == static_cast<std::int64_t>(i));
}

TEST_CASE("every run writes a file of its own and says where it continues") {
    tests::ToldFolder folder;
    for (const std::int64_t resumed_step : {0, 20}) {
        TensorboardWriter writer(folder.path(), resumed_step, folder.log);
        StepReport step;
        step.step = resumed_step + 1;
        step.loss = 2.5;
        writer.on_step(step);
        ValidationReport validation;
        validation.step = step.step;
        validation.metrics = {{"ppl", 12}};
        writer.on_validation(validation);
    }
    const auto names = folder.names();
    REQUIRE(names.size() == 2);
    CHECK(names.begin()->starts_with("events.out.tfevents."));
    const std::vector<Event> events = events_of(folder.path() + "/" + *names.rbegin());
    REQUIRE(events.size() == 4);
    CHECK(events[1].session_status == 1);
    CHECK(events[1].step == 21);
    CHECK(events[2].scalars.at("train/loss") == 2.5f);
    CHECK(events[3].scalars.at("valid/ppl") == 12);
    CHECK(events[3].step == 21);
}

TEST_CASE("hyperparameters are written as torch's add_hparams writes them") {
    const auto golden = parse_json(tests::read_text("tests/runtime/train/golden/hparams.json"));
    REQUIRE(golden.size() == 6);
    for (const auto& entry : golden) {
        const std::string name = entry.at("name"), text = entry.at("text");
        CAPTURE(name);
        std::string hex;
        for (const char c : hyperparameter_summary({{name, text}})) {
            hex += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
            hex += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
        }
        CHECK(hex == entry.at("summary").get<std::string>());
    }
    tests::ToldFolder folder;
    TensorboardWriter(folder.path(), 0, folder.log, {{"batchsize", "32"}});
    CHECK(tests::read_text(folder / *folder.names().begin()).find("_hparams_") !=
          std::string::npos);
}
