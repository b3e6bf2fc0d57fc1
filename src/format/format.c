/* File formats: a vtable a format, and what a format tells of the samples it reads or is to write. */
#include "format.h"

#include <string.h>

#define SNIFF_BYTES 512

const struct format *const format_list[] = {
#define FORMAT(symbol, name) &format_##symbol,
#include "formats.def"
    NULL,
};

const struct choice format_choices[] = {
#define FORMAT(symbol, name)
#define VOLUME_FORMAT(symbol, name) {name, "", ""},
#include "formats.def"
    {NULL, NULL, NULL},
};

const struct format *format_chosen(int place)
{
    static const struct format *const formats[] = {
#define FORMAT(symbol, name)
#define VOLUME_FORMAT(symbol, name) &format_##symbol,
#include "formats.def"
    };

    return formats[place];
}

enum endian endian_native(void)
{
    const uint16_t one = 1;
    unsigned char first;

    memcpy(&first, &one, 1);
    return first == 1 ? ENDIAN_LITTLE : ENDIAN_BIG;
}

size_t header_plane_bytes(const struct header *header)
{
    return grid_plane_samples(&header->grid) * sample_size(header->type);
}

bool source_open(struct source *source, struct file_in *file, const struct format *format,
                 const struct source_request *request, struct fault *fault)
{
    *source = (struct source){.format = format, .file = file};
    if (!format->open(source, request, fault))
        return false;
    if (grid_check(&source->header.grid, fault))
        return true;
    fault_prefix(fault, file_in_name(file));
    source_close(source);
    return false;
}

const struct format *format_sniff(struct file_in *file, struct fault *fault)
{
    unsigned char start[SNIFF_BYTES];
    size_t got;

    if (!file_in_peek(file, start, sizeof start, &got, fault))
        return NULL;
    for (size_t i = 0; format_list[i] != NULL; i++) {
        if (format_list[i]->sniff == NULL || format_list[i]->sniff(start, got))
            return format_list[i];
    }
    return NULL;
}

bool source_hold_in_spool(struct source *source, const struct spool *spool, struct fault *fault)
{
    return source->format->hold_in_spool(source, spool, fault);
}

bool source_read(struct source *source, void *samples, size_t planes, struct fault *fault)
{
    return source->format->read(source, samples, planes, fault);
}

bool source_read_at(struct source *source, void *samples, size_t first, size_t planes, struct fault *fault)
{
    return source->format->read_at(source, samples, first, planes, fault);
}

bool source_allow_stop(struct source *source, struct fault *fault)
{
    return file_in_allow_stop(source->file, fault);
}

void source_stop(struct source *source)
{
    file_in_stop(source->file);
}

bool source_end(struct source *source, struct fault *fault)
{
    return source->format->end(source, fault);
}

void source_close(struct source *source)
{
    source->format->close(source);
}

bool sink_open(struct sink *sink, struct file_out *file, const struct format *format,
               const struct header *header, const struct sink_request *request, struct fault *fault)
{
    *sink = (struct sink){.format = format, .file = file, .header = *header};
    return format->create(sink, request, fault);
}

bool sink_write(struct sink *sink, const void *samples, size_t planes, struct fault *fault)
{
    return sink->format->write(sink, samples, planes, fault);
}

bool sink_finish(struct sink *sink, struct fault *fault)
{
    return sink->format->finish(sink, fault);
}

void sink_close(struct sink *sink)
{
    sink->format->discard(sink);
}
