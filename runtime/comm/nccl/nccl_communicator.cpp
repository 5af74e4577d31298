// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/nccl/nccl_communicator.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/comm/nccl/local_collectives.hpp"
#include "runtime/device/cuda/cuda_check.hpp"
#include "runtime/device/cuda/cuda_clock.hpp"

namespace lockstep::comm {

namespace {

ncclDataType_t type_of(Dtype element) {
    switch (element) {
        case Dtype::fp32:
            return ncclFloat32;
        case Dtype::fp64:
            return ncclFloat64;
        case Dtype::bf16:
            return ncclBfloat16;
        case Dtype::u64:
            return ncclUint64;
        case Dtype::byte:
            return ncclUint8;
        case Dtype::fp16:
            break;
    }
    throw Error(ErrorKind::contract, "a range of an unknown type");
}

ncclRedOp_t operation_of(ReduceOp reduction) {
    switch (reduction) {
        case ReduceOp::sum:
            return ncclSum;
        case ReduceOp::min:
            return ncclMin;
        case ReduceOp::max:
            return ncclMax;
    }
    throw Error(ErrorKind::contract, "an unknown reduction");
}

// Brings rank 0's id to every rank.
ncclUniqueId agree_on_id(Communicator& host) {
    ncclUniqueId id{};
    if (host.rank() == 0) {
        const NcclLibrary library;
        library.check(library.get_unique_id(&id), "ncclGetUniqueId", nullptr);
    }
    host.broadcast(HostView<std::byte>(reinterpret_cast<std::byte*>(&id), sizeof id), 0, "NCCL id");
    host.finish();
    return id;
}

std::shared_ptr<NcclLauncher> make_launcher(int timeout_ms) {
    return std::make_shared<NcclLauncher>(
        std::chrono::milliseconds(std::clamp(timeout_ms / 10, 1, 100)));
}

std::unique_ptr<NcclSession> join(const std::shared_ptr<NcclLauncher>& launcher,
                                  const device::CudaContext& context, Communicator& host,
                                  int timeout_ms) {
    const ncclUniqueId id = agree_on_id(host);
    const int rank = host.rank(), size = host.size();
    const int blocks = context.properties().for_collectives();
    return std::make_unique<NcclSession>(
        launcher, context.device(), timeout_ms,
        [=](const NcclLibrary& library, ncclComm_t* comm, ncclConfig_t* config) {
            if (blocks > 0) config->maxCTAs = blocks;
            return library.init_rank(comm, size, id, rank, config);
        });
}

void require_reducible(const Range<CudaSpace>& range) {
    require(reducible(range.element), "bytes and fp16 cannot be reduced");
}

}  // namespace

NcclCommunicator::NcclCommunicator(device::CudaContext& context, Communicator& host, int timeout_ms)
    : context_(context),
      timeout_ms_(timeout_ms),
      launcher_(make_launcher(timeout_ms)),
      session_(join(launcher_, context, host, timeout_ms)) {}

NcclCommunicator::NcclCommunicator(const NcclCommunicator& whole,
                                   std::unique_ptr<NcclSession> session)
    : context_(whole.context_),
      timeout_ms_(whole.timeout_ms_),
      launcher_(whole.launcher_),
      session_(std::move(session)) {}

NcclCommunicator::~NcclCommunicator() {
    // Peers wait for operations that this rank will never join; aborting tells them now.
    if (std::uncaught_exceptions() > unwinding_) give_up();
    for (void* handle : registered_) {
        try {
            session_->call("ncclCommDeregister", [&](ncclComm_t comm) {
                return session_->library().deregister_memory(comm, handle);
            });
        } catch (const Error&) {
            return;  // an aborted communicator has no registrations
        }
    }
}

Ticket NcclCommunicator::run(
    const char* what, std::string label,
    const std::function<ncclResult_t(ncclComm_t, cudaStream_t)>& operation) {
    const std::string name = std::string(what) + " \"" + label + "\"";
    const cudaStream_t stream = context_.communication_stream();
    auto& clock = context_.cached<device::CudaClock>();
    const std::int64_t after = clock.mark(context_.stream());
    const std::int64_t begin = clock.unrecorded_mark(), end = clock.unrecorded_mark();
    const std::uint64_t number = session_->queue(
        {name, [operation, stream](ncclComm_t comm) { return operation(comm, stream); }, stream,
         clock.event(after), clock.event(begin), clock.event(end)});
    running_.push_back({std::move(label), begin, end});
    ends_.push_back(end);
    return {number};
}

Ticket NcclCommunicator::all_reduce(Range<CudaSpace> range, ReduceOp reduction, std::string label) {
    require_reducible(range);
    return run("all_reduce", std::move(label), [=, this](ncclComm_t comm, cudaStream_t stream) {
        return session_->library().all_reduce(range.data, range.data, range.count,
                                              type_of(range.element), operation_of(reduction), comm,
                                              stream);
    });
}

Ticket NcclCommunicator::reduce_scatter(Range<CudaSpace> range, ReduceOp reduction,
                                        std::string label) {
    require_reducible(range);
    const auto ranks = static_cast<std::size_t>(size());
    require(range.count % ranks == 0, "reduce_scatter needs a multiple of the number of ranks");
    const std::size_t part = range.count / ranks;
    void* own = static_cast<std::byte*>(range.data) +
                static_cast<std::size_t>(rank()) * part * bytes_of(range.element);
    return run("reduce_scatter", std::move(label), [=, this](ncclComm_t comm, cudaStream_t stream) {
        return session_->library().reduce_scatter(range.data, own, part, type_of(range.element),
                                                  operation_of(reduction), comm, stream);
    });
}

Ticket NcclCommunicator::all_gather(Range<CudaSpace> from, Range<CudaSpace> to, std::string label) {
    require(from.element == to.element && to.count == from.count * static_cast<std::size_t>(size()),
            "all_gather needs room for one part of each rank");
    return run("all_gather", std::move(label), [=, this](ncclComm_t comm, cudaStream_t stream) {
        return session_->library().all_gather(from.data, to.data, from.count, type_of(from.element),
                                              comm, stream);
    });
}

Ticket NcclCommunicator::broadcast(Range<CudaSpace> range, int root, std::string label) {
    require(root >= 0 && root < size(), "broadcast from a rank that does not exist");
    return run("broadcast", std::move(label), [=, this](ncclComm_t comm, cudaStream_t stream) {
        return session_->library().broadcast(range.data, range.data, range.count,
                                             type_of(range.element), root, comm, stream);
    });
}

Ticket NcclCommunicator::send(Range<CudaSpace> range, int to, std::string label) {
    require(to >= 0 && to < size() && to != rank(), "send to a rank that does not exist");
    return run("send", std::move(label), [=, this](ncclComm_t comm, cudaStream_t stream) {
        return session_->library().send(range.data, range.count, type_of(range.element), to, comm,
                                        stream);
    });
}

Ticket NcclCommunicator::recv(Range<CudaSpace> range, int from, std::string label) {
    require(from >= 0 && from < size() && from != rank(), "recv from a rank that does not exist");
    return run("recv", std::move(label), [=, this](ncclComm_t comm, cudaStream_t stream) {
        return session_->library().recv(range.data, range.count, type_of(range.element), from, comm,
                                        stream);
    });
}

Ticket NcclCommunicator::barrier(std::string label) {
    return run("barrier", std::move(label), [=, this](ncclComm_t comm, cudaStream_t stream) {
        float* nothing = barrier_.view().data();
        return session_->library().all_reduce(nothing, nothing, 1, ncclFloat32, ncclSum, comm,
                                              stream);
    });
}

void NcclCommunicator::finish() {
    finish(Ticket{waited_ + ends_.size()});
    finished_.push_back(std::exchange(running_, {}));
}

// The stream cannot wait for an event before the session has recorded it.
void NcclCommunicator::finish(Ticket through) {
    require(through.number <= waited_ + ends_.size(), "a ticket of another communicator");
    session_->set_waited_for(true);
    session_->wait_until_accepted(through.number);
    session_->set_waited_for(false);
    if (through.number <= waited_) return;
    const auto past = static_cast<std::ptrdiff_t>(through.number - waited_);
    const std::int64_t last = ends_[static_cast<std::size_t>(past - 1)];
    const cudaEvent_t end = context_.cached<device::CudaClock>().event(last);
    device::check(cudaStreamWaitEvent(context_.stream(), end, 0), "cudaStreamWaitEvent");
    ends_.erase(ends_.begin(), ends_.begin() + past);
    waited_ = through.number;
}

std::vector<Timing> NcclCommunicator::take_timings() {
    std::vector<Timing> timings;
    if (finished_.empty()) return timings;
    const std::vector<Running> operations = std::move(finished_.front());
    finished_.pop_front();
    auto& clock = context_.cached<device::CudaClock>();
    session_->set_waited_for(true);
    for (const Running& operation : operations)
        timings.push_back(
            {operation.label, clock.time_of(operation.begin), clock.time_of(operation.end)});
    session_->set_waited_for(false);
    session_->check();
    return timings;
}

std::unique_ptr<NcclCommunicator> NcclCommunicator::split(int colour) {
    ncclComm_t part = nullptr;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    const int blocks = context_.properties().for_collectives();
    if (blocks > 0) config.maxCTAs = blocks;
    // The new communicator exists once the old one has finished its part of the split.
    try {
        session_->call("split", [&](ncclComm_t whole) {
            return session_->library().split(whole, colour < 0 ? NCCL_SPLIT_NOCOLOR : colour,
                                             rank(), &part, &config);
        });
    } catch (...) {
        // NCCL may have made the part before it noticed what failed.
        if (part != nullptr) session_->library().abort(part);
        throw;
    }
    if (part == nullptr) return nullptr;
    auto session =
        std::make_unique<NcclSession>(launcher_, context_.device(), timeout_ms_,
                                      [part](const NcclLibrary&, ncclComm_t* comm, ncclConfig_t*) {
                                          *comm = part;
                                          return ncclInProgress;
                                      });
    return std::unique_ptr<NcclCommunicator>(new NcclCommunicator(*this, std::move(session)));
}

std::unique_ptr<Collectives<CudaSpace>> NcclCommunicator::group(int colour) {
    require(colour >= 0, "a colour is not negative");
    return split(colour);
}

std::unique_ptr<Collectives<CudaSpace>> NcclCommunicator::lone_group() {
    return std::make_unique<LocalCollectives>(context_);
}

void NcclCommunicator::give_up() {
    session_->abort(std::make_exception_ptr(Error(ErrorKind::peer, "this rank has left NCCL")));
}

void NcclCommunicator::register_memory(Range<CudaSpace> range) {
    session_->call("ncclCommRegister", [&](ncclComm_t comm) {
        void* handle = nullptr;
        const ncclResult_t result =
            session_->library().register_memory(comm, range.data, range.bytes(), &handle);
        if (handle != nullptr) registered_.push_back(handle);
        return result;
    });
}

}  // namespace lockstep::comm
