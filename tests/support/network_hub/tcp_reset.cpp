// SPDX-License-Identifier: Apache-2.0
#include "tests/support/network_hub/tcp_reset.hpp"

#include <net/ethernet.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>

#include <cstring>

namespace lockstep::tests {

namespace {

struct Segment {
    ether_header ethernet;
    iphdr ip;
    tcphdr tcp;
};

template <class Part>
Part at(std::string_view frame, std::size_t offset) {
    Part part;
    std::memcpy(&part, frame.data() + offset, sizeof part);
    return part;
}

std::optional<Segment> parse(std::string_view frame) {
    if (frame.size() < sizeof(ether_header) + sizeof(iphdr)) return std::nullopt;
    Segment segment{};
    segment.ethernet = at<ether_header>(frame, 0);
    if (segment.ethernet.ether_type != htons(ETHERTYPE_IP)) return std::nullopt;
    segment.ip = at<iphdr>(frame, sizeof(ether_header));
    const std::size_t tcp = sizeof(ether_header) + 4 * segment.ip.ihl;
    if (segment.ip.protocol != IPPROTO_TCP || frame.size() < tcp + sizeof(tcphdr))
        return std::nullopt;
    segment.tcp = at<tcphdr>(frame, tcp);
    return segment;
}

std::uint32_t sum_of(const void* data, std::size_t bytes) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i + 1 < bytes; i += 2) {
        std::uint16_t word = 0;
        std::memcpy(&word, static_cast<const char*>(data) + i, sizeof word);
        sum += word;
    }
    return sum;
}

std::uint16_t folded(std::uint32_t sum) {
    while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<std::uint16_t>(~sum);
}

// Returns a reset that comes from where `segment` comes from. `sequence` is in the network's order.
std::string reset_from(const Segment& segment, std::uint32_t sequence) {
    Segment reset = segment;
    reset.ip.ihl = 5;
    reset.ip.tot_len = htons(sizeof(iphdr) + sizeof(tcphdr));
    reset.ip.check = 0;
    reset.ip.check = folded(sum_of(&reset.ip, sizeof reset.ip));
    reset.tcp = {};
    reset.tcp.source = segment.tcp.source;
    reset.tcp.dest = segment.tcp.dest;
    reset.tcp.seq = sequence;
    reset.tcp.doff = sizeof(tcphdr) / 4;
    reset.tcp.rst = 1;
    reset.tcp.check = folded(sum_of(&reset.tcp, sizeof reset.tcp) +
                             sum_of(&reset.ip.saddr, 2 * sizeof reset.ip.saddr) +
                             htons(IPPROTO_TCP) + htons(sizeof(tcphdr)));
    std::string frame(sizeof(ether_header) + sizeof(iphdr) + sizeof(tcphdr), '\0');
    std::memcpy(frame.data(), &reset.ethernet, sizeof reset.ethernet);
    std::memcpy(frame.data() + sizeof(ether_header), &reset.ip, sizeof reset.ip);
    std::memcpy(frame.data() + sizeof(ether_header) + sizeof(iphdr), &reset.tcp, sizeof reset.tcp);
    return frame;
}

Segment turned_around(Segment segment) {
    std::swap(segment.ethernet.ether_dhost, segment.ethernet.ether_shost);
    std::swap(segment.ip.saddr, segment.ip.daddr);
    const auto source = segment.tcp.source;
    segment.tcp.source = segment.tcp.dest;
    segment.tcp.dest = source;
    return segment;
}

}  // namespace

std::optional<std::pair<std::uint16_t, std::uint16_t>> ports_of_segment(std::string_view frame) {
    const auto segment = parse(frame);
    if (!segment || segment->tcp.syn != 0 || segment->tcp.rst != 0) return std::nullopt;
    return std::pair(ntohs(segment->tcp.source), ntohs(segment->tcp.dest));
}

std::pair<std::string, std::string> resets_of(std::string_view frame) {
    const Segment segment = parse(frame).value();
    return {reset_from(turned_around(segment), segment.tcp.ack_seq),
            reset_from(segment, segment.tcp.seq)};
}

}  // namespace lockstep::tests
