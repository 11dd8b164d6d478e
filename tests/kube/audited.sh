#!/bin/sh
# audited.sh LOCKSTEP COMMAND...: runs the command, then has `lockstep audit` judge the API server's log.
lockstep=$1
shift
"$@" && "$lockstep" audit "$LOCKSTEP_AUDIT_LOG"
