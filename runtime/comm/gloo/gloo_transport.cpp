// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/gloo/gloo_transport.hpp"

#include <gloo/rendezvous/context.h>
#include <gloo/types.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "runtime/comm/environment/network_interface.hpp"
#include "runtime/comm/gloo/gloo_collectives.hpp"
#include "runtime/comm/gloo/gloo_links.hpp"
#include "runtime/comm/gloo/gloo_rendezvous.hpp"
#include "runtime/comm/reduction.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::comm {

namespace {

// The kind of an operation is part of its slot. Ranks that disagree on the next operation then wait
// for each other instead of mistaking one operation for another. Gloo's own kinds are 1 to 8.
enum class Kind : std::uint8_t { ring = 0x40, spread, meet, message };

// Holds the resources that all communicators of one job share.
struct Shared {
    std::shared_ptr<Store> store;
    std::shared_ptr<gloo::transport::Device> device;
    int timeout_ms;
};

std::shared_ptr<gloo::Context> connect(int rank, int size, const Shared& shared,
                                       const std::string& name) {
    try {
        auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
        context->setTimeout(std::chrono::milliseconds(shared.timeout_ms));
        GlooRendezvous rendezvous(*shared.store, name + "/", shared.timeout_ms);
        auto device = shared.device;
        context->connectFullMesh(rendezvous, device);
        return context;
    } catch (...) {
        throw_gloo_error(shared.timeout_ms);
    }
}

class GlooTransport : public Transport {
public:
    GlooTransport(int rank, int size, Shared shared, std::string name)
        : rank_(rank),
          size_(size),
          shared_(std::move(shared)),
          name_(std::move(name)),
          links_(connect(rank, size, shared_, name_), shared_.timeout_ms) {
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
        } catch (const Error&) {
        }
    }

    int rank() const noexcept override { return rank_; }
    int size() const noexcept override { return size_; }

    void all_reduce(HostRange range, ReduceOp reduction) override {
        ring(self(), next_slot(Kind::ring), range, {0, 2 * (size_ - 1)}, reduction);
    }
    void reduce_scatter(HostRange range, ReduceOp reduction) override {
        ring(self(), next_slot(Kind::ring), range, {0, size_ - 1}, reduction);
    }
    void all_gather(HostRange from, HostRange to) override {
        const HostRange own = part_of(to, from.count * static_cast<std::size_t>(rank_), from.count);
        if (from.bytes() > 0) std::memcpy(own.data, from.data, from.bytes());
        ring(self(), next_slot(Kind::ring), to, {size_ - 1, 2 * (size_ - 1)}, ReduceOp::sum);
    }
    void broadcast(HostRange range, int root) override {
        spread(self(), next_slot(Kind::spread), range, root);
    }
    void barrier() override { meet(self(), next_slot(Kind::meet)); }
    void send(HostRange range, int to) override {
        GlooBuffer buffer(links_, range);
        buffer.start_send(to, slot(Kind::message, 0), 0, range.bytes());
        buffer.wait_sends();
    }
    void recv(HostRange range, int from) override {
        GlooBuffer buffer(links_, range);
        buffer.start_recv(from, slot(Kind::message, 0), 0, range.bytes());
        buffer.wait_recv();
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

    int rank_;
    int size_;
    Shared shared_;
    std::string name_;
    GlooLinks links_;
    std::uint32_t operations_ = 0;
    int splits_ = 0;
};

std::unique_ptr<Transport> GlooTransport::split(int colour) {
    std::vector<std::uint64_t> colours(static_cast<std::size_t>(size_));
    std::vector<std::uint64_t> own{static_cast<std::uint64_t>(colour)};
    all_gather(view_of(own), view_of(colours));
    const auto mine = colours.begin() + rank_;
    const auto new_rank = std::count(colours.begin(), mine, *mine);
    const auto new_size = std::count(colours.begin(), colours.end(), *mine);
    const std::string name = name_ + "." + std::to_string(++splits_) + "." + std::to_string(colour);
    return std::make_unique<GlooTransport>(static_cast<int>(new_rank), static_cast<int>(new_size),
                                           shared_, name);
}

}  // namespace

void check_gloo(const RankInfo& rank_info, const std::string& interface) {
    if (rank_info.size > gloo_max_ranks) {
        throw Error(ErrorKind::config, "Gloo connects at most " + std::to_string(gloo_max_ranks) +
                                           " ranks, not " + std::to_string(rank_info.size) +
                                           ": start the run by mpirun, or by srun --mpi=pmix");
    }
    check_interface(interface, rank_info);
}

std::unique_ptr<Transport> connect_gloo(int rank, int size, std::shared_ptr<Store> store,
                                        const GlooOptions& options) {
    auto device =
        gloo_device(options.interface, options.address, store->key_for("connections of ranks"));
    Shared shared{std::move(store), std::move(device), options.timeout_ms};
    return std::make_unique<GlooTransport>(rank, size, std::move(shared), "gloo");
}

}  // namespace lockstep::comm
