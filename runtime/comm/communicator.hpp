// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core/bf16.hpp"
#include "runtime/core/dtype.hpp"
#include "runtime/core/trace.hpp"
#include "runtime/core/view.hpp"

namespace lockstep::comm {

enum class ReduceOp { sum, min, max };
// Whether collectives can add and compare elements of this type.
constexpr bool reducible(Dtype element) noexcept {
    return element != Dtype::byte && element != Dtype::fp16;
}

const char* name(ReduceOp reduction) noexcept;

// A range of elements; counts are elements, always. Bytes and fp16 can be sent, broadcast and
// gathered, but not reduced.
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

// When one collective ran on the communicator's thread.
struct Timing {
    std::string label;
    Clock::time_point begin, end;
};

// What a communicator is at, for those who watch it.
struct Activity {
    std::uint64_t completed = 0;  // operations
    std::string operation;        // that runs now, say `all_reduce "bucket 3"`; empty: none
    bool waited_for = false;      // the caller is held up in finish()
};

// Ranks 0..size-1 that act together on memory of Space. Every operation is asynchronous: it is
// queued and returns at once; ranges stay alive and untouched until finish(). Every rank queues the
// same operations in the same order. Nothing averages. Used from one thread. In a device's memory
// an operation starts after what its compute stream was given before, and runs beside what it is
// given later.
template <class Space>
class Collectives {
public:
    virtual ~Collectives() = default;

    virtual int rank() const noexcept = 0;
    virtual int size() const noexcept = 0;

    // In place. `label` names the operation in traces and failure reports ("bucket 3").
    virtual void all_reduce(Range<Space> range, ReduceOp reduction, std::string label) = 0;
    // In place: of `range`, cut into size() equal parts, this rank's part holds the reduction
    // after; the other parts are undefined. range.count is a multiple of size().
    virtual void reduce_scatter(Range<Space> range, ReduceOp reduction, std::string label) = 0;
    // to.count == size() * from.count; rank r's part comes r-th.
    virtual void all_gather(Range<Space> from, Range<Space> to, std::string label) = 0;
    virtual void broadcast(Range<Space> range, int root, std::string label) = 0;
    // In host memory it waits for all queued operations and throws what went wrong in any (kind
    // peer where another rank failed or timed out). In a device's memory its compute stream waits.
    virtual void finish() = 0;

    // Operations finished since the last call, in order. In a device's memory: those of the oldest
    // finish() not asked about, for which the host waits.
    virtual std::vector<Timing> take_timings() = 0;

    // Memory that operations use again and again, and that outlives this: it may be reached without
    // a copy then.
    virtual void register_memory(Range<Space>) {}

    // Lets go of all that waits for other ranks. For a rank that leaves with an exception, before
    // it frees memory of its device, which waits for what runs there.
    virtual void give_up() {}

    // Callable from any thread.
    virtual Activity activity() const { return {}; }
};

// Ranks that act together on host memory.
class Communicator : public Collectives<HostSpace> {
public:
    virtual void send(HostRange range, int to, std::string label) = 0;
    virtual void recv(HostRange range, int from, std::string label) = 0;
    virtual void barrier(std::string label) = 0;

    // Queues work of this rank alone between its operations. What it throws fails the communicator
    // as a failed operation does.
    virtual void run(std::function<void()> work, std::string label) = 0;

    // A new communicator of the ranks that gave the same colour, ordered by rank. Collective;
    // waits.
    virtual std::unique_ptr<Communicator> split(int colour) = 0;

    // Gives up all operations and ends every rank's process where the library can (MPI_Abort),
    // else returns. Callable while operations are stuck; the launcher alone decides to call it.
    virtual void abort(int exit_code);
};

}  // namespace lockstep::comm
