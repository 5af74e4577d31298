// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/mpi/mpi_session.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "runtime/comm/reduction.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/out_of_memory.hpp"

namespace lockstep::comm {

namespace {

template <Dtype element, ReduceOp reduction>
void apply(void* from, void* into, int* count, MPI_Datatype* /*type*/) {
    reduce_into(into, from, static_cast<std::size_t>(*count), element, reduction);
}

template <Dtype element, ReduceOp reduction>
MPI_Op own_operation() {
    constexpr int commutes = 1;
    MPI_Op operation = MPI_OP_NULL;
    check(::MPI_Op_create(apply<element, reduction>, commutes, &operation), "MPI_Op_create");
    return operation;
}

// MPI does not define the minimum of a NaN; these operations keep the NaN.
template <Dtype element>
std::array<MPI_Op, 3> operations_of(MPI_Op sum) {
    return {sum, own_operation<element, ReduceOp::min>(), own_operation<element, ReduceOp::max>()};
}

// Open MPI reads these variables in MPI_Init and accepts only one of them.
void choose_interface(const std::string& interface) {
    constexpr const char* include = "OMPI_MCA_btl_tcp_if_include";
    constexpr const char* exclude = "OMPI_MCA_btl_tcp_if_exclude";
    const bool chosen = std::getenv(include) != nullptr || std::getenv(exclude) != nullptr;
    if (interface.empty() || chosen) return;
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    ::MPI_Get_library_version(text.data(), &length);
    const std::string library(text.data(), static_cast<std::size_t>(length));
    if (!library.starts_with("Open MPI")) {
        throw Error(ErrorKind::config,
                    "--interface " + interface + " is known to Open MPI only, and this MPI is " +
                        library.substr(0, library.find('\n')) +
                        ": leave it out, and choose the network by that MPI's own variables");
    }
    ::setenv(include, interface.c_str(), 1);
}

bool under_slurm() {
    const char* name_space = std::getenv("PMIX_NAMESPACE");
    return name_space != nullptr && std::string_view(name_space).starts_with("slurm.");
}

// Open MPI calls it an internal error when it gets no memory for an operation. Whether memory lacks
// is asked of the system, because malloc may still hold smaller blocks that were freed.
bool of_memory(int code) {
    int error_class = MPI_SUCCESS;
    ::MPI_Error_class(code, &error_class);
    if (error_class == MPI_ERR_NO_MEM) return true;
    if (error_class != MPI_ERR_INTERN && error_class != MPI_ERR_OTHER) return false;
    constexpr std::size_t bytes = 4u << 20;  // several times what an operation takes
    void* const block = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                               /*fd=*/-1, /*offset=*/0);
    if (block == MAP_FAILED) return true;
    ::munmap(block, bytes);
    return false;
}

}  // namespace

void check(int code, const char* what) {
    if (code == MPI_SUCCESS) return;
    const std::string memory = of_memory(code) ? out_of_memory_text + std::string("; ") : "";
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    ::MPI_Error_string(code, text.data(), &length);
    throw Error(ErrorKind::mpi, std::string(what) + ": " + memory + text.data() + " (code " +
                                    std::to_string(code) + ")");
}

MpiSession::MpiSession(const std::string& interface) {
    choose_interface(interface);
    int provided = MPI_THREAD_SINGLE;
    check(::MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
    if (provided < MPI_THREAD_FUNNELED) {
        throw Error(ErrorKind::mpi, "this MPI was built without support for threads");
    }
    if (under_slurm()) pmix_ = PmixClient::of_mpi();
    meet(Clock::time_point::max());
    operations_ = {operations_of<Dtype::fp32>(MPI_SUM), operations_of<Dtype::fp64>(MPI_SUM),
                   operations_of<Dtype::bf16>(own_operation<Dtype::bf16, ReduceOp::sum>()),
                   operations_of<Dtype::u64>(MPI_SUM)};
}

MpiSession::~MpiSession() {
    constexpr std::chrono::seconds longest{5};
    if (disturbed_) return;
    meet(Clock::now() + longest);
    pmix_.reset();
    for (auto& by_reduction : operations_) {
        for (auto& operation : by_reduction) {
            if (operation != MPI_SUM) ::MPI_Op_free(&operation);  // the others were created here
        }
    }
    ::MPI_Finalize();
}

// Open MPI ends MPI_Init and begins MPI_Finalize with a fence, but without data; under Slurm such a
// fence does not wait for other nodes (see PmixClient::fence). A rank's first message then crashes
// a slow rank on another node (a segmentation fault in mca_btl_tcp), and its last message is lost
// if it still waits for a connection.
void MpiSession::meet(Clock::time_point deadline) {
    constexpr std::chrono::microseconds pause{200};
    if (!pmix_) return;
    const auto all_here = pmix_->fence();
    while (all_here.wait_for(pause) != std::future_status::ready && Clock::now() < deadline) {
        int found = 0;  // not used; the call lets MPI progress its messages
        ::MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    }
}

MPI_Op MpiSession::operation(Dtype element, ReduceOp reduction) const {
    return operations_.at(static_cast<std::size_t>(element))
        .at(static_cast<std::size_t>(reduction));
}

MPI_Datatype MpiSession::type(Dtype element) noexcept {
    switch (element) {
        case Dtype::fp32:
            return MPI_FLOAT;
        case Dtype::fp64:
            return MPI_DOUBLE;
        case Dtype::bf16:
        case Dtype::fp16:
            return MPI_UINT16_T;
        case Dtype::u64:
            return MPI_UINT64_T;
        case Dtype::byte:
            return MPI_BYTE;
    }
    return MPI_BYTE;
}

}  // namespace lockstep::comm
