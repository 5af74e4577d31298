// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/mpi/mpi_transport.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/comm/reduction.hpp"
#include "runtime/core/error.hpp"
#include "runtime/files/hash.hpp"

namespace lockstep::comm {

namespace {

constexpr int message_tag = 1;
constexpr std::size_t piece_bytes = 1u << 20;
constexpr std::size_t pieces_under_way = 4;

// Calls `action` on consecutive pieces of at most `max_count` elements that cover the range,
// because MPI counts with an int.
template <class Action>
void in_chunks(const HostRange& range, std::size_t max_count, const Action& action) {
    for (std::size_t first = 0; first < range.count; first += max_count) {
        action(part_of(range, first, std::min(max_count, range.count - first)));
    }
}

int count_of(const HostRange& range) noexcept { return static_cast<int>(range.count); }

std::uint64_t this_host() {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string boot;
    std::getline(file, boot);
    return hash64(boot + " " + host_name());
}

}  // namespace

MpiTransport::MpiTransport(const MpiOptions& options)
    : session_(std::make_shared<MpiSession>(options.interface)),
      communicator_(MPI_COMM_WORLD),  // a duplicate would take as long as MPI_Init
      options_(options) {
    // Linux lengthens this thread's sleeps by 50 us unless its timer slack is lowered.
    ::prctl(PR_SET_TIMERSLACK, 1000);
    find_rank();
}

MpiTransport::MpiTransport(std::shared_ptr<MpiSession> session, MPI_Comm communicator,
                           const MpiOptions& options)
    : session_(std::move(session)), communicator_(communicator), options_(options) {
    find_rank();
}

MpiTransport::~MpiTransport() {
    if (interrupted_) {
        session_->disturb();
    } else if (communicator_ != MPI_COMM_WORLD) {
        ::MPI_Comm_free(&communicator_);
    }
}

void MpiTransport::find_rank() {
    check(::MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(::MPI_Comm_rank(communicator_, &rank_), "MPI_Comm_rank");
    check(::MPI_Comm_size(communicator_, &size_), "MPI_Comm_size");
}

// MPI_Comm_split_type gives the same number, but it spins while it waits: a third of a second when
// ranks share cores.
int MpiTransport::local_size() {
    std::vector<std::uint64_t> own{this_host()};
    std::vector<std::uint64_t> all(static_cast<std::size_t>(size_));
    all_gather(view_of(own), view_of(all));
    return static_cast<int>(std::count(all.begin(), all.end(), own.front()));
}

template <class Start>
void MpiTransport::complete(const char* what, const Start& start) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(start(&request), what);
    wait(what, request);
}

void MpiTransport::wait(const char* what, MPI_Request& request) {
    using namespace std::chrono_literals;
    constexpr int eager_tests = 20;  // short operations end during these tests, without a sleep
    constexpr std::chrono::microseconds longest_pause = 200us;
    const auto begin = Clock::now();
    std::chrono::microseconds pause = 10us;
    for (int test = 0;; ++test) {
        int done = 0;
        check(::MPI_Test(&request, &done, MPI_STATUS_IGNORE), what);
        if (done != 0) return;
        if (interrupted_) throw Error(ErrorKind::peer, "this rank gave the operation up");
        if (Clock::now() - begin >= std::chrono::milliseconds(timeout_ms_)) {
            interrupted_ = true;  // MPI cannot cancel an operation
            throw Error(ErrorKind::peer, "a rank did not answer within " +
                                             std::to_string(timeout_ms_) +
                                             " ms: it hangs, or ended");
        }
        if (test < eager_tests) {
            std::this_thread::yield();
            continue;
        }
        std::this_thread::sleep_for(pause);
        pause = std::min(longest_pause, pause * 3 / 2);
    }
}

// Open MPI works on a copy of the whole range, which it allocates and frees each time. Pieces that
// fit the cache are several times as fast, and having several in flight hides the pauses between
// tests.
void MpiTransport::all_reduce(HostRange range, ReduceOp reduction) {
    if (added_by_owner(range.element, reduction)) return sum_by_owner(range, OwnerResult::all);
    const std::size_t most = std::min(options_.max_count, piece_bytes / bytes_of(range.element));
    std::deque<MPI_Request> under_way;
    const auto wait_for_first = [&] {
        wait("MPI_Iallreduce", under_way.front());
        under_way.pop_front();
    };
    in_chunks(range, most, [&](const HostRange& part) {
        under_way.push_back(MPI_REQUEST_NULL);
        check(::MPI_Iallreduce(
                  MPI_IN_PLACE, part.data, count_of(part), MpiSession::type(part.element),
                  session_->operation(part.element, reduction), communicator_, &under_way.back()),
              "MPI_Iallreduce");
        if (under_way.size() == pieces_under_way) wait_for_first();
    });
    while (!under_way.empty()) wait_for_first();
}

MPI_Request MpiTransport::start_send(const HostRange& range, int to) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(::MPI_Isend(range.data, count_of(range), MpiSession::type(range.element), to, message_tag,
                      communicator_, &request),
          "MPI_Isend");
    return request;
}

MPI_Request MpiTransport::start_recv(const HostRange& range, int from) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(::MPI_Irecv(range.data, count_of(range), MpiSession::type(range.element), from,
                      message_tag, communicator_, &request),
          "MPI_Irecv");
    return request;
}

class MpiTransport::OwnerMessages final : public Messages {
public:
    explicit OwnerMessages(MpiTransport& transport) : transport_(transport) {}

    void send(const HostRange& from, int to) override {
        sends_.push_back(transport_.start_send(from, to));
    }
    void receive(const HostRange& to, Into into, int from) override {
        of(into).push_back(transport_.start_recv(to, from));
    }
    void wait_received(Into into) override { wait("MPI_Irecv", of(into)); }
    void wait_sent() override { wait("MPI_Isend", sends_); }

private:
    std::vector<MPI_Request>& of(Into into) { return received_[static_cast<std::size_t>(into)]; }
    void wait(const char* what, std::vector<MPI_Request>& requests) {
        for (MPI_Request& request : requests) transport_.wait(what, request);
        requests.clear();
    }

    MpiTransport& transport_;
    std::vector<MPI_Request> sends_;
    std::array<std::vector<MPI_Request>, 3> received_;  // by Into
};

void MpiTransport::sum_by_owner(const HostRange& range, OwnerResult result) {
    const std::size_t piece = std::min(options_.max_count, owner_piece(size_));
    for (auto& memory : arriving_memory_)
        memory.resize(
            std::max(memory.size(), piece * static_cast<std::size_t>(size_) * sizeof(bf16)));
    const auto scratch = [&](std::size_t half) {
        return reinterpret_cast<bf16*>(arriving_memory_[half].data());
    };
    OwnerMessages messages(*this);
    add_by_owner(messages, rank_, size_, range, {scratch(0), scratch(1), piece}, result);
}

// Goes around the ring that gloo_collectives.hpp describes, so that sums of 64 KiB and more have
// the same bits as Gloo's. Open MPI's own non-blocking operation sends everything to rank 0, which
// adds and scatters.
void MpiTransport::reduce_scatter(HostRange range, ReduceOp reduction) {
    if (added_by_owner(range.element, reduction)) return sum_by_owner(range, OwnerResult::part);
    if (size_ == 1 || range.count == 0) return;
    const int left = (rank_ + size_ - 1) % size_, right = (rank_ + 1) % size_;
    const std::size_t most = std::min(options_.max_count, piece_bytes / bytes_of(range.element));
    const auto part_in = [&](int step) {
        return even_part_of(range, (rank_ - step - 2 + 2 * size_) % size_, size_);
    };
    std::vector<HostRange> received;
    for (int step = 0; step < size_ - 1; ++step)
        in_chunks(part_in(step), most, [&](const HostRange& piece) { received.push_back(piece); });
    const std::size_t sent_on =
        received.size() - received.size() / static_cast<std::size_t>(size_ - 1);
    const auto memory_of = [&](std::size_t i) {
        const HostRange& piece = received[i];
        return HostRange(arriving_memory_[i % 2].data(), piece.count, piece.element);
    };
    std::array<MPI_Request, 2> arriving{};
    const auto expect = [&](std::size_t i) {
        if (i < received.size()) arriving[i % 2] = start_recv(memory_of(i), left);
    };
    for (auto& memory : arriving_memory_) memory.resize(received.front().bytes());
    std::vector<MPI_Request> sends;
    const auto send_on = [&](const HostRange& p) { sends.push_back(start_send(p, right)); };
    expect(0);
    expect(1);  // one receive more than is being added, so that the connection never idles
    in_chunks(part_in(-1), most, send_on);
    for (std::size_t i = 0; i < received.size(); ++i) {
        wait("MPI_Irecv", arriving[i % 2]);
        const HostRange& piece = received[i];
        reduce_into(piece.data, memory_of(i).data, piece.count, piece.element, reduction);
        if (i < sent_on) send_on(piece);
        expect(i + 2);
    }
    for (MPI_Request& request : sends) wait("MPI_Isend", request);
}

void MpiTransport::all_gather(HostRange from, HostRange to) {
    const HostRange own = even_part_of(to, rank_, size_);
    if (from.count <= options_.max_count) {
        complete("MPI_Iallgather", [&](MPI_Request* request) {
            const MPI_Datatype type = MpiSession::type(from.element);
            const void* const sent = from.data == own.data ? MPI_IN_PLACE : from.data;
            return ::MPI_Iallgather(sent, count_of(from), type, to.data, count_of(from), type,
                                    communicator_, request);
        });
        return;
    }
    if (from.data != own.data) std::memcpy(own.data, from.data, from.bytes());
    for (int root = 0; root < size_; ++root) broadcast(even_part_of(to, root, size_), root);
}

void MpiTransport::broadcast(HostRange range, int root) {
    in_chunks(range, options_.max_count, [&](const HostRange& part) {
        complete("MPI_Ibcast", [&](MPI_Request* request) {
            return ::MPI_Ibcast(part.data, count_of(part), MpiSession::type(part.element), root,
                                communicator_, request);
        });
    });
}

void MpiTransport::send(HostRange range, int to) {
    in_chunks(range, options_.max_count, [&](const HostRange& part) {
        MPI_Request request = start_send(part, to);
        wait("MPI_Isend", request);
    });
}

void MpiTransport::recv(HostRange range, int from) {
    in_chunks(range, options_.max_count, [&](const HostRange& part) {
        MPI_Request request = start_recv(part, from);
        wait("MPI_Irecv", request);
    });
}

// The messages of a direction keep their order, as do their pieces.
void MpiTransport::exchange(std::optional<Message> sent, std::optional<Message> received) {
    std::vector<MPI_Request> receives, sends;
    if (received)
        in_chunks(received->range, options_.max_count, [&](const HostRange& part) {
            receives.push_back(start_recv(part, received->rank));
        });
    if (sent)
        in_chunks(sent->range, options_.max_count,
                  [&](const HostRange& part) { sends.push_back(start_send(part, sent->rank)); });
    for (MPI_Request& request : receives) wait("MPI_Irecv", request);
    for (MPI_Request& request : sends) wait("MPI_Isend", request);
}

void MpiTransport::barrier() {
    complete("MPI_Ibarrier",
             [&](MPI_Request* request) { return ::MPI_Ibarrier(communicator_, request); });
}

// MPI_Comm_split makes every rank of the world spin until the slowest arrives, several times.
// MPI_Comm_create_group involves only the ranks of the new communicator.
std::unique_ptr<Transport> MpiTransport::split(int colour) {
    std::vector<std::uint64_t> own{static_cast<std::uint64_t>(colour)};
    std::vector<std::uint64_t> all(static_cast<std::size_t>(size_));
    all_gather(view_of(own), view_of(all));
    std::vector<int> ranks;
    for (int rank = 0; rank < size_; ++rank) {
        if (all[static_cast<std::size_t>(rank)] == own.front()) ranks.push_back(rank);
    }
    MPI_Group whole = MPI_GROUP_NULL, group = MPI_GROUP_NULL;
    MPI_Comm part = MPI_COMM_NULL;
    check(::MPI_Comm_group(communicator_, &whole), "MPI_Comm_group");
    check(::MPI_Group_incl(whole, static_cast<int>(ranks.size()), ranks.data(), &group),
          "MPI_Group_incl");
    check(::MPI_Comm_create_group(communicator_, group, message_tag, &part),
          "MPI_Comm_create_group");
    ::MPI_Group_free(&group);
    ::MPI_Group_free(&whole);
    return std::unique_ptr<Transport>(new MpiTransport(session_, part, options_));
}

void MpiTransport::abort(int exit_code) noexcept { ::MPI_Abort(communicator_, exit_code); }

}  // namespace lockstep::comm
