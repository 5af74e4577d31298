// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/gloo/gloo_collectives.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/comm/reduction.hpp"

namespace lockstep::comm {

namespace {

// A segment is small enough that sending one, receiving the next and adding overlap, and large
// enough that the wake-ups of Gloo's thread do not matter.
constexpr std::size_t segment_bytes = 512 * 1024;

struct Segment {
    int step;
    HostRange range;
    std::size_t first_byte;  // offset in the whole range
};

// Sends from a range, and receives into it or into scratch memory, whose second half is that of the
// odd pieces.
class GlooMessages final : public Messages {
public:
    GlooMessages(GlooLinks& links, std::uint64_t slot, const HostRange& range,
                 const HostRange& scratch)
        : slot_(slot),
          memory_{{{links, part_of(scratch, 0, scratch.count / 2)},
                   {links, part_of(scratch, scratch.count / 2, scratch.count / 2)},
                   {links, range}}} {}

    void send(const HostRange& from, int to) override {
        Memory& memory = of(Into::range);
        memory.buffer.start_send(to, slot_, memory.offset(from), from.bytes());
    }
    void receive(const HostRange& to, Into into, int from) override {
        Memory& memory = of(into);
        memory.buffer.start_recv(from, slot_, memory.offset(to), to.bytes());
        ++memory.expected;
    }
    void wait_received(Into into) override {
        Memory& memory = of(into);
        for (; memory.expected > 0; --memory.expected) memory.buffer.wait_recv();
    }
    void wait_sent() override { of(Into::range).buffer.wait_sends(); }

private:
    struct Memory {
        Memory(GlooLinks& links, const HostRange& range)
            : begin(static_cast<const std::byte*>(range.data)), buffer(links, range) {}
        std::size_t offset(const HostRange& part) const {
            return static_cast<std::size_t>(static_cast<const std::byte*>(part.data) - begin);
        }

        const std::byte* begin;
        GlooBuffer buffer;
        int expected = 0;
    };
    Memory& of(Into into) { return memory_[static_cast<std::size_t>(into)]; }

    std::uint64_t slot_;
    std::array<Memory, 3> memory_;  // by Into
};

void append_segments(std::vector<Segment>& segments, const HostRange& whole, int step, int part,
                     int size) {
    const HostRange range = even_part_of(whole, part, size);
    const auto* begin = static_cast<const std::byte*>(whole.data);
    const std::size_t most = segment_bytes / bytes_of(range.element);
    for (std::size_t first = 0; first < range.count; first += most) {
        const HostRange piece = part_of(range, first, std::min(most, range.count - first));
        const auto offset = static_cast<const std::byte*>(piece.data) - begin;
        segments.push_back({step, piece, static_cast<std::size_t>(offset)});
    }
}

}  // namespace

void ring(const Member& self, std::uint64_t slot, const HostRange& range, RingSteps steps,
          ReduceOp reduction) {
    if (self.size == 1 || range.count == 0) return;
    const int n = self.size;
    const int left = (self.rank + n - 1) % n;
    const int right = (self.rank + 1) % n;
    const auto part_in = [&](int step) { return (self.rank - step - 2 + 3 * n) % n; };
    const auto adds = [&](const Segment& segment) { return segment.step < n - 1; };

    std::vector<Segment> sent_first, received;
    append_segments(sent_first, range, steps.first - 1, part_in(steps.first - 1), n);
    for (int step = steps.first; step < steps.end; ++step) {
        append_segments(received, range, step, part_in(step), n);
    }
    const std::size_t half = std::min(segment_bytes, range.bytes());
    const auto scratch = std::make_unique_for_overwrite<std::byte[]>(2 * half);
    GlooBuffer whole(self.links, range);
    GlooBuffer incoming(self.links, scratch.get(), 2 * half);
    const auto expect = [&](std::size_t i) {
        if (i >= received.size()) return;
        const Segment& segment = received[i];
        GlooBuffer& into = adds(segment) ? incoming : whole;
        into.start_recv(left, slot, adds(segment) ? i % 2 * half : segment.first_byte,
                        segment.range.bytes());
    };
    const auto send = [&](const Segment& segment) {
        whole.start_send(right, slot, segment.first_byte, segment.range.bytes());
    };

    expect(0);
    expect(1);  // one receive more than is being added, so that the connection never idles
    for (const Segment& segment : sent_first) send(segment);
    for (std::size_t i = 0; i < received.size(); ++i) {
        const auto& [step, piece, first_byte] = received[i];
        if (adds(received[i])) {
            incoming.wait_recv();
            reduce_into(piece.data, scratch.get() + i % 2 * half, piece.count, piece.element,
                        reduction);
        } else {
            whole.wait_recv();
        }
        if (step + 1 < steps.end) send(received[i]);
        expect(i + 2);
    }
    whole.wait_sends();
}

void reduce_by_doubling(const Member& self, std::uint64_t slot, const HostRange& range,
                        ReduceOp reduction) {
    if (self.size == 1 || range.count == 0) return;
    const int even = static_cast<int>(std::bit_floor(static_cast<unsigned>(self.size)));
    const int partner = self.rank < even ? self.rank + even : self.rank - even;
    const auto scratch = std::make_unique_for_overwrite<std::byte[]>(range.bytes());
    GlooBuffer own(self.links, range);
    GlooBuffer incoming(self.links, scratch.get(), range.bytes());
    const auto send = [&](int to) { own.start_send(to, slot, 0, range.bytes()); };
    const auto expect = [&](GlooBuffer& into, int from) {
        into.start_recv(from, slot, 0, range.bytes());
    };
    const auto add = [&](int from) {
        incoming.wait_recv();
        own.wait_sends();
        void* const lower = self.rank < from ? range.data : scratch.get();
        void* const higher = self.rank < from ? scratch.get() : range.data;
        reduce_into(lower, higher, range.count, range.element, reduction);
        if (lower != range.data) std::memcpy(range.data, lower, range.bytes());
    };
    if (self.rank >= even) {
        send(partner);
        own.wait_sends();
        expect(own, partner);
        return own.wait_recv();
    }
    if (partner < self.size) {
        expect(incoming, partner);
        add(partner);
    }
    for (int distance = 1; distance < even; distance *= 2) {
        expect(incoming, self.rank ^ distance);
        send(self.rank ^ distance);
        add(self.rank ^ distance);
    }
    if (partner < self.size) send(partner);
    own.wait_sends();
}

void add_by_owners(const Member& self, std::uint64_t slot, const HostRange& range,
                   OwnerResult result) {
    const std::size_t half = owner_piece(self.size) * static_cast<std::size_t>(self.size);
    const auto scratch = std::make_unique_for_overwrite<bf16[]>(2 * half);
    const OwnerScratch halves{scratch.get(), scratch.get() + half, owner_piece(self.size)};
    GlooMessages messages(self.links, slot, range, HostRange(scratch.get(), 2 * half, Dtype::bf16));
    add_by_owner(messages, self.rank, self.size, range, halves, result);
}

void spread(const Member& self, std::uint64_t slot, const HostRange& range, int root) {
    if (self.size == 1 || range.count == 0) return;
    const int n = self.size;
    const int place = (self.rank - root + n) % n;  // position in a tree whose root is 0
    GlooBuffer buffer(self.links, range);
    int reach = 1;  // all ranks below `reach` have the data
    for (; reach <= place; reach *= 2) {
    }
    if (place > 0) {
        buffer.start_recv((place - reach / 2 + root) % n, slot, 0, range.bytes());
        buffer.wait_recv();
    }
    for (; place + reach < n; reach *= 2) {
        buffer.start_send((place + reach + root) % n, slot, 0, range.bytes());
    }
    buffer.wait_sends();
}

void meet(const Member& self, std::uint64_t slot) {
    std::array<std::byte, 2> token{};
    GlooBuffer out(self.links, token.data(), 1);
    GlooBuffer in(self.links, token.data() + 1, 1);
    for (int distance = 1; distance < self.size; distance *= 2) {
        in.start_recv((self.rank - distance + self.size) % self.size, slot, 0, 1);
        out.start_send((self.rank + distance) % self.size, slot, 0, 1);
        in.wait_recv();
        out.wait_sends();
    }
}

}  // namespace lockstep::comm
