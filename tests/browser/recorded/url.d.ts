/** Declares assets that Vite imports as their URL. */
declare module "*?url" {
  const url: string;
  export default url;
}
