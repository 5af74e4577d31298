// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/store/join_attempt.hpp"

#include <poll.h>

#include <array>
#include <cerrno>

namespace lockstep::comm {

namespace {

using namespace protocol;

const char* const other_program = "other programs listen there";

std::string why_sealed(const std::string& credential) {
    if (credential.empty())
        return "the ranks there share a secret, which this rank was not given: set LOCKSTEP_SECRET "
               "or --secret-file for this rank, too";
    const bool in_file = credential.front() == '/';
    return std::string("the store there belongs to another user or job") +
           (in_file ? ", or this rank does not see its /dev/shm and /tmp, as in a container: set "
                      "LOCKSTEP_SECRET or --secret-file for all ranks"
                    : "");
}

bool may_read_again(int failure) {
    return failure == EAGAIN || failure == EWOULDBLOCK || failure == EINTR;
}

}  // namespace

JoinAttempt::JoinAttempt(const SocketAddress& address, const Admission& admission)
    : address_(address), admission_(&admission) {
    auto [socket, failure] = start_to_connect(address);
    socket_ = std::move(socket);
    if (failure == EINPROGRESS) return;
    failure_ = failure;
    finish_connecting();
}

void JoinAttempt::enter(Stage stage) {
    stage_ = stage;
    stage_start_ = Clock::now();
}

void JoinAttempt::end(Outcome outcome, std::string why) {
    outcome_ = outcome;
    why_ = std::move(why);
    if (outcome != Outcome::joined) socket_ = FileDescriptor();
}

void JoinAttempt::finish_connecting() {
    if (failure_ == EMFILE || failure_ == ENFILE)
        return end(Outcome::prevented, "this process may open no more files (ulimit -n)");
    if (failure_ != 0) return end(Outcome::nobody, "nobody listens there");
    enter(Stage::awaits_hello);
}

short JoinAttempt::events() const noexcept {
    return stage_ == Stage::connecting ? POLLOUT : POLLIN;
}

void JoinAttempt::advance() {
    if (outcome_) return;
    if (stage_ == Stage::connecting) {
        failure_ = connection_failure(socket_);
        return finish_connecting();
    }
    const bool open = receive();
    std::string payload;
    const std::size_t most = stage_ == Stage::awaits_hello ? max_hello_bytes : max_greeting_bytes;
    const auto state = take_frame(received_, most, payload);
    if (state == FrameState::complete) return handle(payload);
    // An empty payload is neither a hello nor a welcome, so it ends the attempt.
    if (!open || state == FrameState::too_long) handle("");
}

// Reads at most what a greeting needs. Returns false if the connection has ended.
bool JoinAttempt::receive() {
    std::array<char, max_hello_bytes> buffer;
    const auto count = ::recv(socket_.raw(), buffer.data(), buffer.size(), 0);
    if (count > 0) received_.append(buffer.data(), static_cast<std::size_t>(count));
    return count > 0 || (count < 0 && may_read_again(errno));
}

void JoinAttempt::handle(const std::string& payload) {
    if (stage_ == Stage::awaits_hello) return greet(payload);
    const bool proven =
        received_.empty() && equal_proofs(payload, server_proof(secret_, greeting_));
    if (proven) return end(Outcome::joined, "");
    end(Outcome::refused, why_refused());
}

void JoinAttempt::greet(const std::string& hello) {
    const std::size_t hello_bytes = magic.size() + nonce_bytes;
    if (hello.size() < hello_bytes || !hello.starts_with(magic))
        return end(Outcome::no_store, other_program);
    const std::string credential = hello.substr(hello_bytes);
    if (admission_->unseal) {
        const auto secret = admission_->unseal(credential);
        if (!secret) return end(Outcome::refused, why_sealed(credential));
        secret_ = *secret;
    } else {
        secret_ = admission_->secret;
    }
    store_has_credential_ = !credential.empty();
    greeting_ = {hello.substr(magic.size(), nonce_bytes), random_nonce(), address_.port()};
    enter(Stage::awaits_welcome);
    // The few bytes fit into the empty buffer of a new connection.
    const std::string proof = frame(greeting_.client_nonce + client_proof(secret_, greeting_));
    const auto sent = ::send(socket_.raw(), proof.data(), proof.size(), MSG_NOSIGNAL);
    if (sent != std::ssize(proof)) end(Outcome::refused, why_refused());
}

std::string JoinAttempt::why_refused() const {
    const bool only_this_rank_has_a_secret = store_has_credential_ && !admission_->unseal;
    return only_this_rank_has_a_secret
               ? "the ranks there were given no secret, but this one was: set LOCKSTEP_SECRET or "
                 "--secret-file for all ranks or for none"
               : "the store there belongs to a job with another secret; give all ranks of "
                 "a job the same LOCKSTEP_SECRET or --secret-file and number of ranks, and "
                 "jobs that run at the same time a --master-port each";
}

void JoinAttempt::expire() {
    if (stage_ == Stage::connecting) {
        failure_ = ETIMEDOUT;
        return end(Outcome::nobody, "nobody listens there");
    }
    end(Outcome::no_store,
        stage_ == Stage::awaits_hello ? other_program : "a store there does not answer");
}

FrameSeal JoinAttempt::seal() const { return {secret_, greeting_, FrameSeal::Side::client}; }

}  // namespace lockstep::comm
