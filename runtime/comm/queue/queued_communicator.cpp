// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/queue/queued_communicator.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <future>
#include <new>
#include <optional>
#include <utility>

#include "runtime/comm/queue/local_communicator.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/out_of_memory.hpp"

namespace lockstep::comm {

namespace {

bool reducible(const HostRange& range) noexcept { return comm::reducible(range.element); }

std::exception_ptr named(const char* cause, ErrorKind kind, const std::string& operation,
                         int rank) {
    return std::make_exception_ptr(
        Error(kind, operation + " on rank " + std::to_string(rank) + ": " + cause));
}

}  // namespace

struct QueuedCommunicator::State {
    std::mutex parts_mutex;  // guards the end of the transport, the parts and the time-out
    std::unique_ptr<Transport> transport;
    std::vector<std::weak_ptr<State>> parts;  // split off this one
    std::optional<int> timeout_ms;            // the last one that was set
    int named_rank = 0;                       // in messages: that of the run, also in a group
    std::atomic<bool> abandoned{false};
    std::atomic<bool> leaves_together{false};  // then an exception is a clean end, too
    std::mutex mutex;
    std::condition_variable changed;
    std::uint64_t passed = 0;    // operations that ran, failed or were left out
    std::exception_ptr failure;  // the mutex guards it and the members below
    std::vector<Timing> timings;
    Activity activity;

    bool failed() {
        const std::lock_guard lock(mutex);
        return failure != nullptr;
    }

    void fail(std::exception_ptr error) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::move(error);
    }

    void attempt(const std::string& full_name, const std::function<void()>& work) {
        try {
            work();
        } catch (const std::bad_alloc&) {
            fail(named(out_of_memory_text, ErrorKind::contract, full_name, named_rank));
        } catch (const Error& error) {
            fail(named(error.what(), error.kind(), full_name, named_rank));
        } catch (const std::exception& error) {
            fail(named(error.what(), ErrorKind::contract, full_name, named_rank));
        }
    }

    void run(const char* what, std::string label, std::int64_t bytes, const Operation& operation) {
        if (abandoned || failed()) return;
        const auto begin = Clock::now();
        const std::string full_name = std::string(what) + " \"" + label + "\"";
        set_operation(full_name);
        attempt(full_name, [&] { operation(*transport); });
        const std::lock_guard lock(mutex);
        timings.push_back({std::move(label), begin, Clock::now(), bytes});
        if (failure) return;  // keep the last operation's name: it shows where this rank got stuck
        ++activity.completed;
        activity.operation.clear();
    }

    // Ends the running operation and makes all later ones fail, here and in what was split off: it
    // would hold up the worker's thread.
    void interrupt() {
        const std::lock_guard lock(parts_mutex);
        if (transport) transport->interrupt();
        for (const std::weak_ptr<State>& part : parts)
            if (const auto living = part.lock()) living->interrupt();
    }

    void leave_together() {
        leaves_together = true;
        const std::lock_guard lock(parts_mutex);
        for (const std::weak_ptr<State>& part : parts)
            if (const auto living = part.lock()) living->leave_together();
    }

    void set_timeout(int value_ms) {
        const std::lock_guard lock(parts_mutex);
        timeout_ms = value_ms;
        if (transport) transport->set_timeout(value_ms);
        for (const std::weak_ptr<State>& part : parts)
            if (const auto living = part.lock()) living->set_timeout(value_ms);
    }

    // The part gets this one's time-out.
    void add_part(const std::shared_ptr<State>& part) {
        const std::lock_guard lock(parts_mutex);
        if (timeout_ms) part->set_timeout(*timeout_ms);
        std::erase_if(parts, [](const auto& old) { return old.expired(); });
        parts.push_back(part);
    }

    std::unique_ptr<Transport> take_transport() {
        const std::lock_guard lock(parts_mutex);
        return std::move(transport);
    }

    void pass() {
        {
            const std::lock_guard lock(mutex);
            ++passed;
        }
        changed.notify_all();
    }

    // Waits until `number` operations have passed, and throws the error of one that failed.
    void wait(std::uint64_t number) {
        std::unique_lock lock(mutex);
        activity.waited_for = true;
        changed.wait(lock, [&] { return passed >= number; });
        activity.waited_for = false;
        if (failure) std::rethrow_exception(failure);
    }

    // Tells whether all of `number` operations were done.
    bool done(std::uint64_t number) {
        const std::lock_guard lock(mutex);
        return !failure && passed == number;
    }

    void set_operation(const std::string& full_name) {
        const std::lock_guard lock(mutex);
        activity.operation = full_name;
    }
};

QueuedCommunicator::QueuedCommunicator(const Connect& connect)
    : worker_(std::make_shared<Worker>()), state_(std::make_shared<State>()) {
    worker_->run([&] { adopt(connect()); });
}

QueuedCommunicator::QueuedCommunicator(Connect connect, int timeout_ms)
    : worker_(std::make_shared<Worker>()), state_(std::make_shared<State>()) {
    const auto connected = std::make_shared<std::promise<std::unique_ptr<Transport>>>();
    auto transport = connected->get_future();
    worker_->post([connected, connect = std::move(connect)] {
        try {
            connected->set_value(connect());
        } catch (...) {
            connected->set_exception(std::current_exception());
        }
    });
    if (transport.wait_for(std::chrono::milliseconds(timeout_ms)) == std::future_status::timeout) {
        // Destroying the worker would wait for its thread. The thread is leaked instead, since the
        // process is about to end.
        [[maybe_unused]] const auto* left_behind = new std::shared_ptr<Worker>(std::move(worker_));
        throw Error(ErrorKind::peer,
                    "the ranks have not all joined within " + std::to_string(timeout_ms / 1000) +
                        " s: was every rank started, and can the hosts reach each other?");
    }
    adopt(transport.get());
}

QueuedCommunicator::QueuedCommunicator(const QueuedCommunicator& whole,
                                       std::unique_ptr<Transport> transport)
    : worker_(whole.worker_), state_(std::make_shared<State>()) {
    adopt(std::move(transport));
    state_->named_rank = whole.state_->named_rank;
}

QueuedCommunicator::~QueuedCommunicator() {
    // Peers wait for operations that this rank will never join; interrupting tells them now instead
    // of at their time-out. A clean end must not disturb peers that are still in the last
    // operation.
    const bool clean = state_->done(queued_) &&
                       (state_->leaves_together || std::uncaught_exceptions() == unwinding_);
    state_->abandoned = true;
    if (!clean) state_->interrupt();
    worker_->run([this]() noexcept { state_->take_transport().reset(); });
}

void QueuedCommunicator::adopt(std::unique_ptr<Transport> transport) {
    rank_ = transport->rank();
    size_ = transport->size();
    state_->named_rank = rank_;
    state_->transport = std::move(transport);
}

// What the task owns is gone when it has passed: a caller may free what it refers to.
Ticket QueuedCommunicator::post(std::function<void()> task) {
    worker_->post([state = state_, task = std::move(task)]() mutable {
        task();
        task = nullptr;
        state->pass();
    });
    return {++queued_};
}

Ticket QueuedCommunicator::enqueue(const char* what, std::string label, std::int64_t bytes,
                                   Operation operation) {
    return post([state = state_.get(), what, label = std::move(label), bytes,
                 operation = std::move(operation)] { state->run(what, label, bytes, operation); });
}

std::int64_t QueuedCommunicator::bytes_of_call(TapedCall call, const HostRange& range) const {
    const auto bytes = static_cast<std::int64_t>(range.bytes());
    return bytes_sent({.call = call, .ranks = size_, .bytes = bytes}, HalfSums::halves);
}

Ticket QueuedCommunicator::all_reduce(HostRange range, ReduceOp reduction, std::string label) {
    require(reducible(range), "bytes cannot be reduced");
    return enqueue("all_reduce", std::move(label), bytes_of_call(TapedCall::all_reduce, range),
                   [range, reduction](Transport& t) { t.all_reduce(range, reduction); });
}

Ticket QueuedCommunicator::reduce_scatter(HostRange range, ReduceOp reduction, std::string label) {
    require(reducible(range), "bytes cannot be reduced");
    require(range.count % static_cast<std::size_t>(size_) == 0,
            "reduce_scatter needs a multiple of the number of ranks");
    return enqueue("reduce_scatter", std::move(label),
                   bytes_of_call(TapedCall::reduce_scatter, range),
                   [range, reduction](Transport& t) { t.reduce_scatter(range, reduction); });
}

Ticket QueuedCommunicator::all_gather(HostRange from, HostRange to, std::string label) {
    require(from.element == to.element && to.count == from.count * static_cast<std::size_t>(size_),
            "all_gather needs room for one part of each rank");
    return enqueue("all_gather", std::move(label), bytes_of_call(TapedCall::all_gather, to),
                   [from, to](Transport& t) { t.all_gather(from, to); });
}

Ticket QueuedCommunicator::broadcast(HostRange range, int root, std::string label) {
    require(root >= 0 && root < size_, "broadcast from a rank that does not exist");
    return enqueue("broadcast", std::move(label), bytes_of_call(TapedCall::broadcast, range),
                   [range, root](Transport& t) { t.broadcast(range, root); });
}

Ticket QueuedCommunicator::send(HostRange range, int to, std::string label) {
    require(to >= 0 && to < size_ && to != rank_, "send to a rank that does not exist");
    return enqueue("send", std::move(label), bytes_of_call(TapedCall::send, range),
                   [range, to](Transport& t) { t.send(range, to); });
}

Ticket QueuedCommunicator::recv(HostRange range, int from, std::string label) {
    require(from >= 0 && from < size_ && from != rank_, "recv from a rank that does not exist");
    return enqueue("recv", std::move(label), 0,
                   [range, from](Transport& t) { t.recv(range, from); });
}

Ticket QueuedCommunicator::exchange(std::optional<Message> sent, std::optional<Message> received,
                                    std::string label) {
    for (const std::optional<Message>& message : {sent, received})
        require(!message || (message->rank >= 0 && message->rank < size_ && message->rank != rank_),
                "exchange with a rank that does not exist");
    return enqueue("exchange", std::move(label),
                   sent ? bytes_of_call(TapedCall::send, sent->range) : 0,
                   [sent, received](Transport& t) { t.exchange(sent, received); });
}

Ticket QueuedCommunicator::barrier(std::string label) {
    return enqueue("barrier", std::move(label), 0, [](Transport& t) { t.barrier(); });
}

// This work waits for no other rank, so the watchdog does not see it as an operation.
Ticket QueuedCommunicator::run(std::function<void()> work, std::string label) {
    return post([state = state_.get(), work = std::move(work), label = std::move(label)] {
        if (!state->abandoned && !state->failed()) state->attempt("\"" + label + "\"", work);
    });
}

void QueuedCommunicator::finish() { state_->wait(queued_); }

void QueuedCommunicator::finish(Ticket through) {
    require(through.number <= queued_, "a ticket of another communicator");
    state_->wait(through.number);
}

std::unique_ptr<Communicator> QueuedCommunicator::split(int colour) {
    std::unique_ptr<Transport> part;
    enqueue("split", "colour " + std::to_string(colour), 0,
            [&part, colour](Transport& t) { part = t.split(colour); });
    finish();
    std::unique_ptr<QueuedCommunicator> group(new QueuedCommunicator(*this, std::move(part)));
    state_->add_part(group->state_);
    return group;
}

// The wait is short because the transport ends the running operation, and later ones do not run.
void QueuedCommunicator::give_up() {
    if (state_->leaves_together && state_->done(queued_)) return;  // nobody waits for anybody
    state_->fail(
        std::make_exception_ptr(Error(ErrorKind::peer, "this rank has left the other ranks")));
    state_->interrupt();
    worker_->run([] {});
}

Activity QueuedCommunicator::activity() const {
    const std::lock_guard lock(state_->mutex);
    return state_->activity;
}

std::unique_ptr<Collectives<HostSpace>> QueuedCommunicator::lone_group() {
    return std::make_unique<LocalCommunicator>();
}

std::vector<Timing> QueuedCommunicator::take_timings() {
    const std::lock_guard lock(state_->mutex);
    return std::exchange(state_->timings, {});
}

void QueuedCommunicator::set_timeout(int timeout_ms) { state_->set_timeout(timeout_ms); }

void QueuedCommunicator::leave_together() { state_->leave_together(); }

// What is left out after this counts as failed: the library may return, and the caller must not
// take its own values for the sum of all ranks'.
void QueuedCommunicator::abort(int exit_code) {
    state_->fail(std::make_exception_ptr(Error(ErrorKind::peer, "this rank ends the run")));
    state_->abandoned = true;
    state_->interrupt();
    worker_->run([this, exit_code] { state_->transport->abort(exit_code); });
}

}  // namespace lockstep::comm
