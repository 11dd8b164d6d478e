// The precompiled header is built with this file and reused by every room.
