/* Raw volumes compressed by gzip: samples that the command line describes. */
#include "base/file_in.h"
#include "format.h"
#include "volume_sink.h"

#include <stdio.h>

static bool read_header(struct source *source, const struct source_request *request, struct fault *fault)
{
    struct volume *volume = source->state;

    if (!request->has_dims)
        return fault_raise_about(fault, STATUS_USAGE, file_in_name(source->file),
                                 "raw samples, compressed by gzip, need -n N or -d X[,Y[,Z]]");
    source->header.grid = request->grid;
    source->header.type = request->has_type ? request->type : SAMPLE_F32;
    source->header.endian = request->has_endian ? request->endian : ENDIAN_LITTLE;
    volume->coding.skipped_by = "--skip";
    volume->coding.byte_skip = request->skip;
    if (!request->has_type)
        snprintf(source->note, sizeof source->note, "%s: taken as %s (--type says otherwise)",
                 file_in_name(source->file), sample_name(source->header.type));
    return true;
}

static bool open_source(struct source *source, const struct source_request *request, struct fault *fault)
{
    return volume_open(source, request, read_header, fault);
}

static bool write_header(struct sink *sink, const struct sink_request *request, struct fault *fault)
{
    (void)request;
    return volume_sink_pack(sink, GZIP_WRITER_GZIP, fault);
}

static bool create_sink(struct sink *sink, const struct sink_request *request, struct fault *fault)
{
    return volume_sink_create(sink, request, write_header, fault);
}

const struct format format_raw_gz = {.name = "raw.gz",
                                     .summary = "the same, compressed by gzip",
                                     .joins = true,
                                     .compressed = true,
                                     .in_turn = true,
                                     .compresses = true,
                                     VOLUME_OPERATIONS};
