/** `@turnstream/s3` exports `createS3Storage`, and `deleteUnknownObjects` for after a restore of the database. */
export { createS3Storage, type ObjectStorage, type S3StorageOptions } from "./create-s3-storage.ts";
export { deleteUnknownObjects, type UnknownObjects } from "./delete-unknown-objects.ts";
