// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/core/bf16.hpp"
#include "runtime/core/dtype.hpp"
#include "runtime/core/trace.hpp"
#include "runtime/core/view.hpp"

namespace lockstep::comm {

enum class ReduceOp { sum, min, max };
// Tells whether collectives can add and compare elements of this type.
constexpr bool reducible(Dtype element) noexcept {
    return element != Dtype::byte && element != Dtype::fp16;
}

const char* name(ReduceOp reduction) noexcept;

// A range holds elements of one type. Counts are always in elements. A range does not own its
// memory. Bytes and fp16 can be sent, broadcast and gathered, but not reduced.
template <class Space>
struct Range {
    void* data = nullptr;
    std::size_t count = 0;
    Dtype element = Dtype::byte;

    Range(View<float, Space> v) : Range(v.data(), v.size(), Dtype::fp32) {}
    Range(View<double, Space> v) : Range(v.data(), v.size(), Dtype::fp64) {}
    Range(View<lockstep::bf16, Space> v) : Range(v.data(), v.size(), Dtype::bf16) {}
    Range(View<std::uint64_t, Space> v) : Range(v.data(), v.size(), Dtype::u64) {}
    Range(View<std::byte, Space> v) : Range(v.data(), v.size(), Dtype::byte) {}
    Range(void* d, std::size_t n, Dtype e) : data(d), count(n), element(e) {}
    std::size_t bytes() const noexcept { return count * bytes_of(element); }
};
using HostRange = Range<HostSpace>;

// Tells when one operation ran on the communicator's thread, and what this rank sent in it, every
// collective around a ring (bytes_sent() of tape.hpp). In a device's memory bytes are not counted.
struct Timing {
    std::string label;
    Clock::time_point begin, end;
    std::int64_t bytes = 0;
};

// Tells the watchdog what a communicator is doing now.
struct Activity {
    std::uint64_t completed = 0;  // finished operations
    std::string operation;        // the running one, such as `all_reduce "bucket 3"`; or empty
    bool waited_for = false;      // the caller is blocked in finish()
};

// Stands for one operation of one communicator, to wait for it. That of the last operation stands
// for all before it, because they run in the order of the calls. The initial value stands for none.
struct Ticket {
    std::uint64_t number = 0;
};

// Lets ranks 0 to size() - 1 act together on memory of Space. Every operation is asynchronous: the
// call queues it and returns its ticket at once. The caller owns the ranges and neither frees nor
// changes them before finish(). Every rank queues the same operations in the same order. No
// operation averages. Only one thread uses an object. In a device's memory an operation starts
// after the work that was given to the compute stream before the call, and overlaps with the work
// that is given to it later. Usage:
//     std::vector<float> gradients(n);
//     comm->all_reduce(view_of(gradients), ReduceOp::sum, "bucket 0");  // queued
//     compute_something_else();
//     comm->finish();  // throws when another rank failed
//     use(gradients);  // the sum over all ranks
template <class Space>
class Collectives {
public:
    virtual ~Collectives() = default;

    virtual int rank() const noexcept = 0;
    virtual int size() const noexcept = 0;

    // Reduces in place. `label` names the operation in traces and failure reports ("bucket 3"). In
    // host memory sums of bf16 are added in fp32, in the order of the ranks, and rounded once
    // (owner_sums.hpp); NCCL rounds when it likes.
    virtual Ticket all_reduce(Range<Space> range, ReduceOp reduction, std::string label) = 0;
    // Reduces in place. `range` is cut into size() equal parts; afterwards this rank's part holds
    // the reduction and the other parts are undefined. range.count must be a multiple of size().
    virtual Ticket reduce_scatter(Range<Space> range, ReduceOp reduction, std::string label) = 0;
    // Gathers every rank's `from` in `to`, ordered by rank. to.count == size() * from.count. `from`
    // may be this rank's part of `to`, else they have no memory in common.
    virtual Ticket all_gather(Range<Space> from, Range<Space> to, std::string label) = 0;
    virtual Ticket broadcast(Range<Space> range, int root, std::string label) = 0;
    // Waits for all queued operations in host memory and throws the error of any of them (kind peer
    // when another rank failed or timed out). In a device's memory the compute stream waits for
    // them, and the host need not.
    virtual void finish() = 0;
    // Does the same for the operation of the ticket and those before it; later ones may still run.
    // It throws the error of a later one, too, if that has failed already.
    virtual void finish(Ticket through) = 0;

    // Returns the times of the operations finished since the last call, in order. In a device's
    // memory it returns those of the oldest finish() that has not been asked about yet, and the
    // host waits for them; a finish() with a ticket does not count.
    virtual std::vector<Timing> take_timings() = 0;

    // Makes the collectives of the ranks that gave the same colour, which is not negative, ordered
    // by rank. The call is collective and waits. The operations of all groups of a rank run in the
    // order of the calls; every rank brings those of its groups in an order in which none waits for
    // another for ever.
    virtual std::unique_ptr<Collectives> group(int colour) = 0;
    // Makes the collectives of this rank alone. The call is not collective.
    virtual std::unique_ptr<Collectives> lone_group() = 0;

    // Announces memory that many operations will use and that outlives this object, so that an
    // implementation may reach it without a copy.
    virtual void register_memory(Range<Space>) {}

    // Aborts everything that waits for other ranks. A rank that leaves with an exception calls it
    // before it frees device memory, because freeing waits for the running operations.
    virtual void give_up() {}

    // Any thread may call it.
    virtual Activity activity() const { return {}; }
};

// Memory that goes to another rank, or that comes from it.
struct Message {
    HostRange range;
    int rank;
};

// Lets ranks act together on host memory and send messages to each other.
class Communicator : public Collectives<HostSpace> {
public:
    virtual Ticket send(HostRange range, int to, std::string label) = 0;
    virtual Ticket recv(HostRange range, int from, std::string label) = 0;
    // Sends and receives at once, so that ranks which exchange messages with each other, or around
    // a circle, do not wait for ever. Either may be missing, and the two may concern two ranks.
    // send() and recv() of the other ranks answer it, too.
    virtual Ticket exchange(std::optional<Message> sent, std::optional<Message> received,
                            std::string label) = 0;
    virtual Ticket barrier(std::string label) = 0;

    // Queues work of this rank alone between its operations. An exception from it fails the
    // communicator as a failed operation does; where a rank is alone, the call itself throws it.
    virtual Ticket run(std::function<void()> work, std::string label) = 0;

    // Makes a new communicator of the ranks that gave the same colour, ordered by rank. The call is
    // collective and waits.
    virtual std::unique_ptr<Communicator> split(int colour) = 0;
    std::unique_ptr<Collectives<HostSpace>> group(int colour) override { return split(colour); }

    // Gives up all operations and ends every rank's process if the library can do so (MPI_Abort);
    // otherwise it returns. It may be called while operations are stuck. Only the launcher decides
    // to call it.
    virtual void abort(int exit_code);

    // Says that no rank queues anything more, because all of them know why they end, or learn it
    // from what is queued. An exception that ends this object does not interrupt the others then,
    // and the library is left as in a good end. Every rank calls it.
    virtual void leave_together() {}

    // Changes the time limit of the operations that follow. Any thread may call it. A communicator
    // that has no limit ignores it.
    virtual void set_timeout(int /*timeout_ms*/) {}
};

// This time limit stands for none: it is longer than three weeks.
constexpr int unlimited_ms = std::numeric_limits<int>::max();

}  // namespace lockstep::comm
