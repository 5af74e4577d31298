// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/store/store_protocol.hpp"
#include "tests/fuzz/input_reader.hpp"
#include "tests/fuzz/store_session.hpp"
#include "tests/fuzz/target.hpp"

using namespace lockstep;
using namespace lockstep::comm::protocol;

namespace {

void decode(const std::string& payload) {
    if (const auto request = decode_request(payload))
        fuzz::expect(encode(*request) == payload, "a request that is another after it was written");
    if (const auto reply = decode_reply(payload))
        fuzz::expect(encode(*reply) == payload, "a reply that is another after it was written");
}

void take_frames(std::string bytes) {
    decode(bytes);
    std::string payload;
    for (std::size_t before = bytes.size() + 1; before > bytes.size();) {
        before = bytes.size();
        if (take_frame(bytes, max_greeting_bytes, payload) == FrameState::complete) decode(payload);
    }
}

}  // namespace

// The first byte says who sends the rest: nobody (the bytes are only decoded), a stranger, or a
// rank that knows the secret.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::InputReader input(data, size);
    switch (input.number<std::uint8_t>() % 8) {
        case 0:
            fuzz::talk_to_store(fuzz::Peer::without_secret, input);
            break;
        case 1:
        case 2:
            fuzz::talk_to_store(fuzz::Peer::with_secret, input);
            break;
        default:
            const auto rest = input.piece(size);
            take_frames({rest.begin(), rest.end()});
    }
    return 0;
}
