import type { Output } from './output.ts'

/**
 * Prints a link that another browser opens. stdout gets the link alone, so that programs can read it; what people
 * read beside it goes to stderr.
 */
export function printLink({ out, err, errStyle }: Output, link: { url: string; about: string }): void {
  out(`${link.url}\n`)
  err(`${errStyle.dim(link.about)}\n`)
}
