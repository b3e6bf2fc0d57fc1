/* Types of files that are of none of our formats: known by how they begin, or by their names. */
#include "foreign_type.h"

#include "base/path.h"
#include "zarr/store.h"

#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* Where the mark stands in the file, its bytes, and their number. Types without a mark are known by name
   alone. */
#define MARK(at, mark) at, mark, sizeof(mark) - 1
#define NO_MARK        0, NULL, 0

static const char to_png[] = "convert it to PNG for imgheat";
static const char to_ome[] = "bfconvert converts it to OME-TIFF";
static const char from_vtk[] = "ParaView saves its samples as MetaImage";

/* A mark counts before any name. DICOM begins with 128 bytes that mean nothing, and WebP's mark follows the
   eight bytes of its container. */
static const struct foreign_type kinds[] = {
    {"a DICOM file", ".dcm .dicom", "dcm2niix converts it to NIfTI", MARK(128, "DICM"), false},
    {"an HDF5 file", ".h5 .hdf5 .nxs .ims", "h5dump -d DATASET -b LE -o FILE writes raw samples",
     MARK(0, "\x89HDF\r\n\032\n"), false},
    {"a CZI file", ".czi", to_ome, MARK(0, "ZISRAWFILE"), false},
    {"an ND2 file", ".nd2", to_ome, MARK(0, "\xda\xce\xbe\n"), false},
    {"a file of a microscope", ".lif .oib .oif .vsi", to_ome, NO_MARK, false},
    {"a GIF picture", ".gif", to_png, MARK(0, "GIF8"), false},
    {"a BMP picture", ".bmp", to_png, NO_MARK, false},
    {"a WebP picture", ".webp", to_png, MARK(8, "WEBPVP8"), false},
    {"a Netpbm picture", ".pgm .ppm .pnm .pam", to_png, NO_MARK, false},
    {"a PDF file", ".pdf", to_png, MARK(0, "%PDF-"), false},
    {"a VTK file", ".vtk", from_vtk, MARK(0, "# vtk DataFile"), false},
    {"a VTK file", ".vti", from_vtk, MARK(0, "<VTKFile"), false},
    {"a MINC file", ".mnc", "mnc2nii converts it to NIfTI", NO_MARK, false},
    {"a FreeSurfer volume", ".mgh .mgz", "mri_convert and nib-convert convert it to NIfTI", NO_MARK, false},
    {"metadata of a Zarr store", "zarr.json .zarray .zattrs .zgroup .zmetadata", "give its folder", NO_MARK,
     false},
    {"a ZIP archive", ".npz .zip", "unpack it; an .npz holds files of NumPy", MARK(0, "PK\3\4"), true},
    {"a compressed file", ".gz .bz2 .xz .zst", "decompress it", NO_MARK, true},
};
#define KINDS (sizeof kinds / sizeof *kinds)

/* A file of fewer bytes than any header has is none of them. */
#define LEAST_BYTES 16

const struct foreign_type *foreign_type_of_start(const unsigned char *start, size_t size)
{
    for (size_t i = 0; i < KINDS; i++) {
        const struct foreign_type *type = &kinds[i];
        if (type->mark != NULL && size >= LEAST_BYTES && size >= type->at + type->mark_size &&
            memcmp(start + type->at, type->mark, type->mark_size) == 0)
            return type;
    }
    return NULL;
}

static bool ends_with(const char *path, const char *ending, size_t length)
{
    size_t path_length = strlen(path);

    return path_length >= length && strncasecmp(path + path_length - length, ending, length) == 0;
}

const struct foreign_type *foreign_type_of_name(const char *path)
{
    for (size_t i = 0; i < KINDS; i++) {
        const char *ending = kinds[i].endings;
        for (size_t length; *ending != '\0'; ending += length + (ending[length] == ' ')) {
            length = strcspn(ending, " ");
            if (ends_with(path, ending, length))
                return &kinds[i];
        }
    }
    return NULL;
}

bool foreign_type_check(const char *path, const unsigned char *start, size_t size, struct fault *fault)
{
    const struct foreign_type *marked = foreign_type_of_start(start, size),
                              *type = marked != NULL ? marked : foreign_type_of_name(path);

    if (size == 0)
        return fault_set_for(fault, STATUS_INPUT, path, "the file is empty");
    /* The ending of a compressed file alone proves nothing: raw samples may have it. */
    if (type == NULL || (marked == NULL && type->compressed))
        return true;
    return fault_set_for(fault, STATUS_INPUT, path, "%s%s, which is not read: %s", type->name,
                         marked == NULL ? " by its name" : "", type->hint);
}

bool foreign_type_check_folder(const char *path, struct fault *fault)
{
    struct stat info;

    if (path_is_standard(path) || stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
        return true;
    return fault_set_for(fault, STATUS_INPUT, path, "%s",
                         store_metadata_at(path) != STORE_NO_METADATA
                             ? "a Zarr store: voxfilt filters it as --format zarr"
                         : ends_with(path, ".zarr", 5) || ends_with(path, ".zarr/", 6)
                             ? "a folder without zarr.json, .zarray or .zattrs, and so no Zarr store"
                             : "a folder, which is not read: name files in it; dcm2niix converts those of "
                               "DICOM");
}
