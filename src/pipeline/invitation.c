/* Invitations: what rank 0 tells the others of a file that all of them write. */
#include "invitation.h"

#include <stdio.h>

bool invitation_write(struct invitation *invitation, struct file_out *file, uint64_t begin, uint64_t bytes,
                      struct fault *fault)
{
    if (!file_out_extend(file, begin + bytes, fault))
        return false;
    invitation->begin = begin;
    invitation->synced = file_out_is_synced(file);
    return (size_t)snprintf(invitation->temporary, sizeof invitation->temporary, "%s",
                            file_out_temporary(file)) < sizeof invitation->temporary ||
           fault_raise_about(fault, STATUS_IO, file_out_name(file), "too long a name");
}

static bool join(const struct invitation *invitation, const char *path, struct file_out **joined,
                 struct fault *fault)
{
    if (invitation->temporary[0] == '\0' ||
        file_out_join(joined, path, invitation->temporary, invitation->synced, fault))
        return true;
    *joined = NULL;
    return false;
}

bool invitation_send(struct invitation *invitation, struct peers *peers, bool done, const char *path,
                     struct file_out **joined, struct fault *fault)
{
    *joined = NULL;
    return peers_follow(peers, done, fault) &&
           peers_broadcast(peers, invitation, sizeof *invitation, fault) &&
           peers_agree(peers, peers_lead(peers) || join(invitation, path, joined, fault), fault);
}
