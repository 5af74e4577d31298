// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda_emulation/block.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/philox.hpp"
#include "tests/support/cuda_emulation/fiber.hpp"

namespace lockstep::tests::cuda_emulation {

namespace {

constexpr unsigned warp_size = 32;

struct Copy {
    void* to;
    const void* from;
    std::size_t bytes;
};

enum class State : std::uint8_t { ready, at_block, at_lanes, done };

// What every switch reads. It is small so that a block's threads fit into the first-level cache.
struct Thread {
    Fiber fiber;
    uint3 index{};
    unsigned number = 0;  // in its block
};

using Copies = std::deque<std::vector<Copy>>;  // groups, of which the newest is open

// An order that has each thread of a block once: from any of them on, in either direction.
class Round {
public:
    Round() = default;
    Round(std::uint64_t random, unsigned count)
        : count_(count), left_(count), forwards_(random % 2 == 0) {
        next_ = static_cast<unsigned>(random >> 1) % count;
    }
    bool ended() const { return left_ == 0; }
    unsigned peek() const { return next_; }
    unsigned take() {
        const unsigned number = next_;
        --left_;
        if (forwards_)
            next_ = next_ + 1 == count_ ? 0 : next_ + 1;
        else
            next_ = next_ == 0 ? count_ - 1 : next_ - 1;
        return number;
    }

private:
    unsigned count_ = 0, left_ = 0, next_ = 0;
    bool forwards_ = true;
};

// Lanes of a warp that wait for each other. Those that have arrived are bits of `arrived`.
struct Meeting {
    std::uint32_t mask;
    Exchange exchange;
    std::uint32_t arrived;
    Operands operands;
};

// Runs blocks. Each operating-system thread has one engine, which keeps its fibers and stacks from
// launch to launch.
class Engine {
public:
    void run(dim3 grid, dim3 block, const SharedBytes& shared, const std::function<void()>& kernel);

    Thread& current() {
        if (current_ == nullptr)
            throw Error(ErrorKind::contract, "a kernel's function was called outside of a kernel");
        return *current_;
    }
    // Suspends the running thread until something sets it ready.
    void wait(State state) {
        Thread& thread = current();
        states_[thread.number] = state;
        Thread* const next = failure_ ? nullptr : next_ready();
        if (next == nullptr) return thread.fiber.suspend();
        make_current(*next);
        thread.fiber.hand_over(next->fiber);
    }
    Copies& copies() { return copies_[current().number]; }
    void set_ready(const Thread& thread, std::uint32_t lanes) {
        State* states = &states_[thread.number / warp_size * warp_size];
        for (; lanes != 0; lanes &= lanes - 1) states[std::countr_zero(lanes)] = State::ready;
    }
    unsigned lanes_of(const Thread& thread) const {
        return std::min(warp_size, count_ - thread.number / warp_size * warp_size);
    }
    // Returns those of the thread's warp. A meeting to which all its lanes have come ends at once.
    std::vector<Meeting>& meetings_of(const Thread& thread) {
        return meetings_[thread.number / warp_size];
    }
    void* dynamic() {
        return shared_.data() + (128 - reinterpret_cast<std::uintptr_t>(shared_.data()) % 128);
    }
    std::uint64_t block_number() const { return block_number_; }
    void claim_static(std::size_t bytes) {
        static_bytes_ += bytes;
        if (static_bytes_ + shared_bytes_.dynamic <= shared_bytes_.most) return;
        throw Error(ErrorKind::contract, "a launch of " + std::to_string(shared_bytes_.dynamic) +
                                             " bytes of dynamic and " +
                                             std::to_string(static_bytes_) +
                                             " of static shared memory, where " +
                                             std::to_string(shared_bytes_.most) + " are allowed");
    }

private:
    static void enter(void* engine);
    void start_block();
    void run_block();
    void run_ready_threads();
    void end_wait();
    Thread* next_ready();
    void make_current(Thread& thread) {
        threadIdx = thread.index;
        current_ = &thread;
    }

    std::deque<Thread> threads_;
    std::vector<Copies> copies_;  // of the threads
    std::vector<State> states_;   // of the threads, side by side because each round reads them all
    Round round_;
    std::vector<std::vector<Meeting>> meetings_;  // of each warp
    std::vector<std::byte> shared_;
    SharedBytes shared_bytes_;
    std::size_t static_bytes_ = 0;  // static memory of the running block
    const std::function<void()>* kernel_ = nullptr;
    Thread* current_ = nullptr;
    std::exception_ptr failure_;
    dim3 block_;
    unsigned count_ = 0;
    std::uint64_t block_number_ = 0, waits_ = 0;
};

Engine& engine() {
    static thread_local Engine engine;
    return engine;
}

void Engine::run(dim3 grid, dim3 block, const SharedBytes& shared,
                 const std::function<void()>& kernel) {
    const std::size_t count = std::size_t{block.x} * block.y * block.z;
    require(count > 0, "a block has threads");
    require(current_ == nullptr, "a kernel launched a kernel");
    while (threads_.size() < count) threads_.emplace_back();
    copies_.resize(threads_.size());
    count_ = static_cast<unsigned>(count);
    block_ = block;
    kernel_ = &kernel;
    shared_bytes_ = shared;
    shared_.resize(shared.dynamic + 128);
    blockDim = block;
    gridDim = grid;
    for (unsigned z = 0; z < grid.z; ++z)
        for (unsigned y = 0; y < grid.y; ++y)
            for (unsigned x = 0; x < grid.x; ++x) {
                blockIdx = {x, y, z};
                run_block();
            }
}

void Engine::start_block() {
    ++block_number_;
    static_bytes_ = 0;
    std::memset(shared_.data(), 0xFF, shared_.size());
    meetings_.resize(std::max<std::size_t>(meetings_.size(), count_ / warp_size + 1));
    for (auto& meetings : meetings_) meetings.clear();
    states_.assign(count_, State::ready);
    round_ = Round();
    for (unsigned i = 0; i < count_; ++i) {
        Thread& thread = threads_[i];
        thread.number = i;
        thread.index = {i % block_.x, i / block_.x % block_.y, i / block_.x / block_.y};
        copies_[i].assign(1, {});
        thread.fiber.start(&Engine::enter, this);
    }
}

void Engine::enter(void* self) {
    auto& engine = *static_cast<Engine*>(self);
    try {
        (*engine.kernel_)();
    } catch (...) {
        engine.failure_ = std::current_exception();
    }
    engine.wait(State::done);
}

// Returns a thread that is ready, or null if there is none. Each round starts with a different
// thread and goes forwards or backwards.
Thread* Engine::next_ready() {
    for (int rounds = round_.ended() ? 1 : 2; rounds > 0; --rounds) {
        if (round_.ended()) round_ = Round(mix(block_number_, ++waits_), count_);
        while (!round_.ended()) {
            const unsigned number = round_.take();
            if (states_[number] != State::ready) continue;
            threads_[round_.peek()].fiber.prefetch();
            return &threads_[number];
        }
    }
    return nullptr;
}

// Runs threads until none is ready.
void Engine::run_ready_threads() {
    while (Thread* const first = next_ready()) {
        make_current(*first);
        first->fiber.resume();
        current_ = nullptr;
        if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    }
}

void Engine::end_wait() {
    const auto at_block = std::ranges::count(states_, State::at_block);
    if (at_block != count_)
        throw Error(ErrorKind::contract,
                    std::to_string(at_block) + " of a block's " + std::to_string(count_) +
                        " threads wait at a barrier, and the others returned or wait elsewhere");
    std::ranges::fill(states_, State::ready);
}

void Engine::run_block() {
    start_block();
    for (;;) {
        run_ready_threads();
        if (std::ranges::count(states_, State::done) == count_) return;
        end_wait();
    }
}

}  // namespace

void run_grid(dim3 grid, dim3 block, const SharedBytes& shared,
              const std::function<void()>& kernel) {
    engine().run(grid, block, shared, kernel);
}

void wait_for_block() { engine().wait(State::at_block); }

void wait_for_lanes(std::uint32_t mask, void* operand, Exchange exchange) {
    Engine& here = engine();
    Thread& thread = here.current();
    const unsigned lanes = here.lanes_of(thread), own = thread.number % warp_size;
    if ((mask >> own & 1) == 0)
        throw Error(ErrorKind::contract, "a lane must name itself in its mask");
    if (lanes != warp_size && mask >> lanes != 0)
        throw Error(ErrorKind::contract, "a mask names lanes that do not exist");
    std::vector<Meeting>& meetings = here.meetings_of(thread);
    auto meeting = std::ranges::find_if(meetings, [&](const Meeting& other) {
        return other.mask == mask && other.exchange == exchange;
    });
    if (meeting == meetings.end())
        meeting = meetings.insert(meetings.end(), Meeting{mask, exchange, 0, {}});
    meeting->operands[own] = operand;
    meeting->arrived |= std::uint32_t{1} << own;
    if (meeting->arrived != mask) return here.wait(State::at_lanes);
    exchange(meeting->operands);
    meetings.erase(meeting);
    here.set_ready(thread, mask);
}

unsigned lane() { return engine().current().number % warp_size; }

void* dynamic_memory() { return engine().dynamic(); }
void claim_static_memory(std::size_t bytes) { engine().claim_static(bytes); }
std::uint64_t block_number() { return engine().block_number(); }

void begin_copy(void* to, const void* from, std::size_t bytes) {
    std::memset(to, 0xFF, bytes);  // a kernel that does not wait reads NaN
    engine().copies().back().push_back({to, from, bytes});
}

void end_copy_group() { engine().copies().emplace_back(); }

void wait_copies(std::size_t pending_groups) {
    Copies& copies = engine().copies();
    while (copies.size() - 1 > pending_groups) {
        for (const Copy& copy : copies.front()) {
            if (copy.from == nullptr)
                std::memset(copy.to, 0, copy.bytes);
            else
                std::memcpy(copy.to, copy.from, copy.bytes);
        }
        copies.pop_front();
    }
}

}  // namespace lockstep::tests::cuda_emulation
