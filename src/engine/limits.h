#pragma once

#include "base/time.h"

// The engine's time limits in one place. DESIGN: the gang commit.
namespace lockstep::engine {

// Refusals of a pod's create that may pass are retried this long; then the attempt is undone.
inline constexpr Duration kPlaceTimeout = seconds(30);
// Without progress of any member for this long, a starting gang gives its seats back.
inline constexpr Duration kStartTimeout = minutes(10);
// The same for errors of image or configuration, once others wait.
inline constexpr Duration kStartErrorTimeout = minutes(1);
// All pods exist but not all run after this long: the phase Starting is written down.
inline constexpr Duration kQuickStart = seconds(2);

// Back-off between attempts: first, doubling, at most.
inline constexpr Duration kFirstAttemptBackoff = seconds(1);
inline constexpr Duration kLongestAttemptBackoff = minutes(5);
// A node whose kubelet refused one of the gang's pods is barred for that gang.
inline constexpr Duration kFirstBar = seconds(10);
inline constexpr Duration kLongestBar = minutes(10);
// A scheduler that is to bind a steered pod may say for this long that it can't.
inline constexpr Duration kSteerPatience = seconds(30);
// A gang that no job of ours made keeps the seats of pods it has lost this long for those that replace them;
// the Job controller makes a failed pod anew after 10 s.
inline constexpr Duration kSeatsKept = minutes(1);
// Back-off between tries of one write.
inline constexpr Duration kFirstRetry = milliseconds(100);
inline constexpr Duration kLongestRetry = seconds(5);

// A template that a full quota kept from being checked is asked about again at most this often.
inline constexpr Duration kQuotaAskedAgain = seconds(1);
// How long the dry run of a template is believed.
inline constexpr Duration kCheckValid = minutes(5);
inline constexpr Duration kRefusalValid = seconds(10);
// A dry run without an answer is no refusal: after so many in a row the template is taken as written. A gang
// whose record can't be created lets others pass after as many tries.
inline constexpr int kUnansweredChecks = 3;

// A restart whose old pods are still there after this long says which: the default grace period and a little.
inline constexpr Duration kUsualEnd = seconds(40);

// A restarting gang keeps its turn at least this long while its old pods end; then others may pass.
inline constexpr Duration kTurnKept = kUsualEnd;

// Replica counts alone are written at most this often.
inline constexpr Duration kCountsInterval = seconds(1);
// A waiting gang's sentence, when only its numbers changed, is rewritten at most this often.
inline constexpr Duration kReasonInterval = seconds(30);
// Gangs explained anew in one step besides those that changed, so that a step stays short with 10,000 of them
// waiting; and how soon the next of them follow when nothing else happens.
inline constexpr size_t kReasonsPerStep = 50;
inline constexpr Duration kExplainAgain = milliseconds(20);

}  // namespace lockstep::engine
