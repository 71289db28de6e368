/** The code is in the fragment, so it reaches no server and no log, and a link preview does not use it up. */
export function linkTo(url: string, code: string): string {
  return `${url}/open#${code}`
}
