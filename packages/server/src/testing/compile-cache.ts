/** The compile cache of the test run. With it, an agent that runs on Node is compiled once, not with every start. */
export function compileCache(): { NODE_COMPILE_CACHE?: string } {
  const { NODE_COMPILE_CACHE } = process.env
  return NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE } : {}
}
