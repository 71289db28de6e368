/** The code stands behind a #: it reaches no server and no log, and a preview of the link does not use it up. */
export function linkTo(url: string, code: string): string {
  return `${url}/open#${code}`
}
