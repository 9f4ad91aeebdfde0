/** The configuration of the template, with a faster build. The API also has a path with a prefix. */
import { withTurnstream } from "@turnstream/next/config";

export default withTurnstream({
  rewrites: async () => [{ source: "/assistant/api/v1/:path*", destination: "/api/v1/:path*" }],
  experimental: { turbopackMinify: false, turbopackFileSystemCacheForBuild: false },
});
