/** A harness on PostgreSQL whose blobs and uploads are in an S3 server. */
import { type S3Server, startS3 } from "@turnstream/testkit/servers/start-s3.ts";

import { createS3Storage, type S3StorageOptions } from "@turnstream/s3";
import { createPostgresStore } from "../../src/store/create-postgres-store.ts";
import { type PostgresHarness, timedHarness } from "./postgres-harness.ts";

export interface S3Harness extends PostgresHarness {
  readonly s3: S3Server;
}

export async function s3Harness(options: Partial<S3StorageOptions> = {}): Promise<S3Harness> {
  const [harness, s3] = [await timedHarness(), await startS3()];
  const storage = createS3Storage({ ...s3.options, ...options });
  const store = createPostgresStore(harness.db, { storage });
  const close = async () => {
    await store.close();
    await s3.stop();
  };
  return { ...harness, store: { ...store, close }, s3 };
}
