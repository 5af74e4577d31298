// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/threads/thread_world.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/comm/owner_sums.hpp"
#include "runtime/comm/queue/queued_communicator.hpp"
#include "runtime/comm/reduction.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::comm {

namespace {

// Holds one rank's arguments of a collective. All ranks must bring the same except for the
// addresses.
struct Offer {
    const char* operation = "";
    std::optional<HostRange> from, to;
    int argument = 0;  // root, reduction or colour

    std::size_t count() const noexcept { return from ? from->count : 0; }
};

bool agree(const Offer& a, const Offer& b) noexcept {
    const bool same_range =
        a.count() == b.count() && (!a.from || a.from->element == b.from->element);
    const bool own_argument = a.operation == std::string_view("split");
    return std::string_view(a.operation) == b.operation && same_range &&
           (a.argument == b.argument || own_argument);
}

[[noreturn]] void throw_broken() { throw Error(ErrorKind::peer, "another rank failed"); }

}  // namespace

struct ThreadWorldState {
    explicit ThreadWorldState(int n)
        : size(n),
          letter_changes(static_cast<std::size_t>(n)),
          offers(static_cast<std::size_t>(n)) {}

    const int size;
    std::mutex mutex;
    std::condition_variable all_met;
    // A rank's own condition variable tells it that a letter has come for it, that one of its
    // letters was received, or that the world broke.
    std::vector<std::condition_variable> letter_changes;
    bool broken = false;
    int arrived = 0;
    std::uint64_t generation = 0;
    std::vector<Offer> offers;
    std::map<std::pair<int, int>, HostRange> letters;  // sent but not yet received; by (from, to)
    std::map<int, std::shared_ptr<ThreadWorldState>> parts;  // worlds that a split made, by colour

    void fail() noexcept {
        {
            const std::lock_guard lock(mutex);
            broken = true;
        }
        all_met.notify_all();
        for (std::condition_variable& change : letter_changes) change.notify_all();
    }

    // Waits for `condition`. Throws if the world breaks before it holds.
    template <class Condition>
    void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
              Condition condition) {
        changed.wait(lock, [&] { return broken || condition(); });
        if (!condition()) throw_broken();
    }

    // Returns once all ranks have called it. Either all ranks return or all throw: a rank that
    // arrives after the world broke does not count.
    void meet() {
        std::unique_lock lock(mutex);
        if (broken) throw_broken();
        const std::uint64_t mine = generation;
        if (last_to_arrive(lock)) return;
        wait(lock, all_met, [&] { return generation != mine; });
    }

    // Works as meet() for ranks that have met already. They read each other's memory, so none may
    // leave before all are done, even if the world is broken.
    void leave() {
        std::unique_lock lock(mutex);
        const std::uint64_t mine = generation;
        if (last_to_arrive(lock)) return;
        all_met.wait(lock, [&] { return generation != mine; });
    }

    std::condition_variable& letters_changed(int rank) {
        return letter_changes[static_cast<std::size_t>(rank)];
    }

private:
    // The last one unlocks first, so that those that wake do not wait for the mutex at once.
    bool last_to_arrive(std::unique_lock<std::mutex>& lock) {
        if (++arrived < size) return false;
        arrived = 0;
        ++generation;
        lock.unlock();
        all_met.notify_all();
        return true;
    }
};

namespace {

class ThreadTransport : public Transport {
public:
    ThreadTransport(std::shared_ptr<ThreadWorldState> world, int rank)
        : world_(std::move(world)), rank_(rank) {}

    int rank() const noexcept override { return rank_; }
    int size() const noexcept override { return world_->size; }

    void all_reduce(HostRange range, ReduceOp reduction) override {
        show({"all_reduce", range, {}, static_cast<int>(reduction)});
        const HostRange mine = reduced(rank_, even_part_of(range, rank_, size()), reduction);
        for (const Offer& offer : world_->offers) {
            copy(mine, even_part_of(*offer.from, rank_, size()));
        }
        world_->leave();
    }

    void reduce_scatter(HostRange range, ReduceOp reduction) override {
        show({"reduce_scatter", range, {}, static_cast<int>(reduction)});
        reduced(rank_, even_part_of(range, rank_, size()), reduction);
        world_->leave();
    }

    void all_gather(HostRange from, HostRange to) override {
        show({"all_gather", from, to, 0});
        for (int r = 0; r < size(); ++r) {
            copy(*world_->offers[static_cast<std::size_t>(r)].from, even_part_of(to, r, size()));
        }
        world_->leave();
    }

    void broadcast(HostRange range, int root) override {
        show({"broadcast", range, {}, root});
        if (rank_ != root) copy(*world_->offers[static_cast<std::size_t>(root)].from, range);
        world_->leave();
    }

    void barrier() override { world_->meet(); }

    void send(HostRange range, int to) override { exchange(Message{range, to}, std::nullopt); }

    void exchange(std::optional<Message> sent, std::optional<Message> received) override {
        if (sent) post(*sent);
        try {
            if (received) recv(received->range, received->rank);
            if (sent) wait_until_taken(sent->rank);
        } catch (const Error&) {
            if (!sent) throw;
            // The letter points to memory that this rank may free after the exception.
            const std::lock_guard lock(world_->mutex);
            world_->letters.erase({rank_, sent->rank});
            throw;
        }
    }

    void recv(HostRange range, int from) override {
        const std::pair key(from, rank_);
        std::unique_lock lock(world_->mutex);
        world_->wait(lock, world_->letters_changed(rank_),
                     [&] { return world_->letters.contains(key); });
        const auto letter = world_->letters.find(key);
        require(letter->second.bytes() == range.bytes(), "recv of another size than was sent");
        copy(letter->second, range);
        world_->letters.erase(letter);
        lock.unlock();
        world_->letters_changed(from).notify_all();
    }

    std::unique_ptr<Transport> split(int colour) override;
    void interrupt() noexcept override { world_->fail(); }

private:
    // The receiver does not wake only to wait for the mutex.
    void post(const Message& sent) {
        {
            const std::lock_guard lock(world_->mutex);
            world_->letters.emplace(std::pair(rank_, sent.rank), sent.range);
        }
        world_->letters_changed(sent.rank).notify_all();
    }
    void wait_until_taken(int to) {
        std::unique_lock lock(world_->mutex);
        world_->wait(lock, world_->letters_changed(rank_), [&] {
            return !world_->letters.contains({rank_, to});
        });
    }

    // Publishes this rank's offer and waits for those of all ranks, which stay readable until
    // leave().
    void show(Offer offer) {
        world_->offers[static_cast<std::size_t>(rank_)] = std::move(offer);
        world_->meet();
        const Offer& first = world_->offers.front();
        const bool same = std::all_of(world_->offers.begin(), world_->offers.end(),
                                      [&](const Offer& other) { return agree(first, other); });
        if (same) return;
        world_->leave();  // every rank comes to the same result and still reads the offers
        require(false, "ranks queued different operations");
    }

    // Reduces all ranks' parts, in rank order, into `part` of rank `owner`, and returns it.
    HostRange reduced(int owner, HostRange part, ReduceOp reduction) {
        if (part.count == 0) return part;
        if (added_by_owner(part.element, reduction)) {
            std::vector<const bf16*> addends;
            for (const Offer& offer : world_->offers)
                addends.push_back(
                    static_cast<const bf16*>(even_part_of(*offer.from, owner, size()).data));
            add_in_order(static_cast<bf16*>(part.data), addends, part.count);
            return part;
        }
        std::vector<std::byte> own(part.bytes());
        std::memcpy(own.data(), part.data, own.size());
        copy(even_part_of(*world_->offers.front().from, owner, size()), part);
        for (int r = 1; r < size(); ++r) {
            const Offer& offer = world_->offers[static_cast<std::size_t>(r)];
            const HostRange other = even_part_of(*offer.from, owner, size());
            reduce_into(part.data, r == owner ? own.data() : other.data, part.count, part.element,
                        reduction);
        }
        return part;
    }

    static void copy(const HostRange& from, const HostRange& to) {
        if (from.bytes() > 0 && from.data != to.data) {
            std::memcpy(to.data, from.data, from.bytes());
        }
    }

    std::shared_ptr<ThreadWorldState> world_;
    int rank_;
};

std::unique_ptr<Transport> ThreadTransport::split(int colour) {
    show({"split", {}, {}, colour});
    int new_rank = 0;
    int new_size = 0;
    for (int r = 0; r < size(); ++r) {
        if (world_->offers[static_cast<std::size_t>(r)].argument != colour) continue;
        if (r < rank_) ++new_rank;
        ++new_size;
    }
    std::shared_ptr<ThreadWorldState> part;
    {
        const std::lock_guard lock(world_->mutex);
        auto& shared = world_->parts[colour];
        if (!shared) shared = std::make_shared<ThreadWorldState>(new_size);
        part = shared;
    }
    world_->leave();
    {
        const std::lock_guard lock(world_->mutex);
        world_->parts.clear();
    }
    world_->leave();
    return std::make_unique<ThreadTransport>(std::move(part), new_rank);
}

}  // namespace

ThreadWorld::ThreadWorld(int size) : state_(std::make_shared<ThreadWorldState>(size)) {
    require(size > 0, "a world needs a rank");
}

std::unique_ptr<Communicator> ThreadWorld::join(int rank) {
    return std::make_unique<QueuedCommunicator>([&] { return transport(rank); });
}

std::unique_ptr<Transport> ThreadWorld::transport(int rank) {
    require(rank >= 0 && rank < state_->size, "rank out of range");
    return std::make_unique<ThreadTransport>(state_, rank);
}

void ThreadWorld::fail() noexcept { state_->fail(); }

void run_as_threads(int size, const std::function<void(Communicator&)>& body) {
    ThreadWorld world(size);
    std::mutex mutex;
    // `cause` is a rank's own failure, `consequence` a failure that another rank caused.
    std::exception_ptr cause, consequence;
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < size; ++rank) {
        ranks.emplace_back([&, rank] {
            const auto keep = [&](std::exception_ptr& where) {
                const std::lock_guard lock(mutex);
                if (!where) where = std::current_exception();
            };
            try {
                const auto communicator = world.join(rank);
                body(*communicator);
            } catch (const Error& error) {
                keep(error.kind() == ErrorKind::peer ? consequence : cause);
                world.fail();
            } catch (...) {
                keep(cause);
                world.fail();
            }
        });
    }
    for (auto& rank : ranks) rank.join();
    if (cause) std::rethrow_exception(cause);
    if (consequence) std::rethrow_exception(consequence);
}

}  // namespace lockstep::comm
