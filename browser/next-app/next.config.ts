/** The configuration of the template, with a faster build. */
import { withTurnstream } from "@turnstream/next/config";

export default withTurnstream({
  experimental: { turbopackMinify: false, turbopackFileSystemCacheForBuild: false },
});
