"""The way in over HTTP: a REST interface, its events, and the page that uses them.

It decides nothing: questions go to the follower of a service, submissions to its driver.
"""
