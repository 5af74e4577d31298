// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/gloo/gloo_transport.hpp"

#include <gloo/types.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/comm/environment/network_interface.hpp"
#include "runtime/comm/gloo/gloo_collectives.hpp"
#include "runtime/comm/gloo/gloo_links.hpp"
#include "runtime/comm/gloo/gloo_rendezvous.hpp"
#include "runtime/comm/owner_sums.hpp"
#include "runtime/comm/reduction.hpp"
#include "runtime/comm/store/store.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::comm {

namespace {

// The kind of an operation is part of its slot. Ranks that disagree on the next operation then wait
// for each other instead of mistaking one operation for another. Gloo's own kinds are 1 to 8.
enum class Kind : std::uint8_t { ring = 0x40, spread, meet, message, doubling, owners };

// Below this size the number of messages counts, and not the bytes.
constexpr std::size_t small_bytes = 64 * 1024;

// A rank keeps a port for each higher rank that it waits for, and the ranks of a host share its
// ports.
constexpr int ranks_at_once = 8;

class GlooTransport : public Transport {
public:
    GlooTransport(int rank, int size, GlooMeeting meeting)
        : rank_(rank), size_(size), meeting_(std::move(meeting)), links_(rank, size, meeting_) {
        links_.connect(near_ranks(rank, size));
        // Rank 0 may close its store only after all ranks have read the addresses of their peers.
        barrier();
    }

    // Gloo closes its sockets at once, and data not sent yet is lost; the barrier makes sure that
    // every rank has received everything. A rank that arrives too late finds the sockets closed,
    // and its barrier ends with an error that is ignored.
    ~GlooTransport() override {
        if (links_.given_up()) return;
        links_.shorten_timeout(2000);
        try {
            barrier();
        } catch (...) {
        }
    }

    int rank() const noexcept override { return rank_; }
    int size() const noexcept override { return size_; }

    void all_reduce(HostRange range, ReduceOp reduction) override {
        if (added_by_owner(range.element, reduction)) return add_by_owner(range, OwnerResult::all);
        if (range.bytes() < small_bytes)
            return reduce_by_doubling(self(), next_slot(Kind::doubling), range, reduction);
        ring(self(), next_slot(Kind::ring), range, {0, 2 * (size_ - 1)}, reduction);
    }
    // A part has the same bits as that of an all_reduce of the range.
    void reduce_scatter(HostRange range, ReduceOp reduction) override {
        if (added_by_owner(range.element, reduction)) return add_by_owner(range, OwnerResult::part);
        if (range.bytes() < small_bytes) return all_reduce(range, reduction);
        ring(self(), next_slot(Kind::ring), range, {0, size_ - 1}, reduction);
    }
    void all_gather(HostRange from, HostRange to) override {
        const HostRange own = part_of(to, from.count * static_cast<std::size_t>(rank_), from.count);
        if (from.bytes() > 0 && from.data != own.data)
            std::memcpy(own.data, from.data, from.bytes());
        ring(self(), next_slot(Kind::ring), to, {size_ - 1, 2 * (size_ - 1)}, ReduceOp::sum);
    }
    void broadcast(HostRange range, int root) override {
        spread(self(), next_slot(Kind::spread), range, root);
    }
    void barrier() override { meet(self(), next_slot(Kind::meet)); }
    void send(HostRange range, int to) override {
        links_.connect({to});
        GlooBuffer buffer(links_, range);
        buffer.start_send(to, slot(Kind::message, 0), 0, range.bytes());
        buffer.wait_sends();
    }
    void recv(HostRange range, int from) override {
        links_.connect({from});
        GlooBuffer buffer(links_, range);
        buffer.start_recv(from, slot(Kind::message, 0), 0, range.bytes());
        buffer.wait_recv();
    }
    void exchange(std::optional<Message> sent, std::optional<Message> received) override {
        std::vector<int> peers;
        if (sent) peers.push_back(sent->rank);
        if (received) peers.push_back(received->rank);
        std::ranges::sort(peers);
        links_.connect(peers);
        std::optional<GlooBuffer> from, to;
        if (received) {
            to.emplace(links_, received->range);
            to->start_recv(received->rank, slot(Kind::message, 0), 0, received->range.bytes());
        }
        if (sent) {
            from.emplace(links_, sent->range);
            from->start_send(sent->rank, slot(Kind::message, 0), 0, sent->range.bytes());
        }
        if (to) to->wait_recv();
        if (from) from->wait_sends();
    }
    std::unique_ptr<Transport> split(int colour) override;
    void interrupt() noexcept override { links_.give_up(); }
    void set_timeout(int timeout_ms) noexcept override { links_.set_timeout(timeout_ms); }

private:
    static std::uint64_t slot(Kind kind, std::uint32_t operation) {
        return gloo::Slot::build(static_cast<std::uint8_t>(kind), operation);
    }
    std::uint64_t next_slot(Kind kind) { return slot(kind, ++operations_); }
    Member self() { return {rank_, size_, links_}; }

    void add_by_owner(const HostRange& range, OwnerResult result) {
        if (size_ == 1 || range.count == 0) return;
        if (!connected_with_all_) connect_with_all();
        add_by_owners(self(), next_slot(Kind::owners), range, result);
    }
    // All ranks do this in the same operation, and each takes the others in ascending order. Order
    // the pairs that are not connected yet by their lower rank, and then by their higher one. Both
    // ranks of the first pair are connected with all ranks below the other one, so both wait for
    // this pair, and nothing else delays it. Hence ranks never wait in a circle.
    void connect_with_all() {
        allow_all_connections(rank_, size_);
        for (int first = 0; first < size_; first += ranks_at_once) {
            std::vector<int> some;
            for (int rank = first; rank < std::min(first + ranks_at_once, size_); ++rank)
                if (rank != rank_) some.push_back(rank);
            links_.connect(some);
        }
        connected_with_all_ = true;
    }

    int rank_;
    int size_;
    const GlooMeeting meeting_;
    GlooLinks links_;
    std::uint32_t operations_ = 0;
    int splits_ = 0;
    bool connected_with_all_ = false;
};

std::unique_ptr<Transport> GlooTransport::split(int colour) {
    std::vector<std::uint64_t> colours(static_cast<std::size_t>(size_));
    std::vector<std::uint64_t> own{static_cast<std::uint64_t>(colour)};
    all_gather(view_of(own), view_of(colours));
    const auto mine = colours.begin() + rank_;
    const auto new_rank = std::count(colours.begin(), mine, *mine);
    const auto new_size = std::count(colours.begin(), colours.end(), *mine);
    GlooMeeting meeting = meeting_;
    meeting.name += "." + std::to_string(++splits_) + "." + std::to_string(colour);
    return std::make_unique<GlooTransport>(static_cast<int>(new_rank), static_cast<int>(new_size),
                                           std::move(meeting));
}

}  // namespace

std::vector<int> near_ranks(int rank, int size) {
    std::vector<int> near;
    for (int distance = 1; distance < size; distance *= 2) {
        near.push_back((rank + distance) % size);
        near.push_back((rank + size - distance) % size);
    }
    std::sort(near.begin(), near.end());
    near.erase(std::unique(near.begin(), near.end()), near.end());
    return near;
}

// Sockets of this rank that are open already, such as those of the store, count too.
void allow_all_connections(int rank, int size) {
    using std::filesystem::directory_iterator;
    constexpr rlim_t spare = 32;
    std::error_code ignored;
    const auto open = static_cast<int>(
        std::distance(directory_iterator("/proc/self/fd", ignored), directory_iterator()));
    allow_connections(open + size);
    const auto needed = static_cast<rlim_t>(open) + static_cast<rlim_t>(size) + spare;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
    const std::string least = std::to_string(needed);
    throw Error(ErrorKind::config,
                "rank " + std::to_string(rank) + " of " + std::to_string(size) + " may have " +
                    std::to_string(limit.rlim_cur) + " files open, and needs " + least +
                    " to exchange bf16 with all others: allow more (ulimit -n " + least + ")");
}

void check_gloo(const RankInfo& rank_info, const std::string& interface) {
    check_interface(interface, rank_info);
}

std::unique_ptr<Transport> connect_gloo(int rank, int size, std::shared_ptr<Store> store,
                                        const GlooOptions& options) {
    auto device =
        gloo_device(options.interface, options.address, store->key_for("connections of ranks"));
    return std::make_unique<GlooTransport>(
        rank, size, GlooMeeting{std::move(store), std::move(device), options.timeout_ms, "gloo"});
}

}  // namespace lockstep::comm
